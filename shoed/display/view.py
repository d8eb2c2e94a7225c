"""What a subscriber knows of a table: a fold over the messages under its topic.

Theory of operation: events come in order and say everything; the retained state stands in for
those that were told before we listened. What is not in this contract is ignored, as everybody should.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, assert_never

import msgspec
from msgspec.structs import replace

from shoed import device_events, events
from shoed.bus.messages import CloudEvent, Status
from shoed.device_events import EventData
from shoed.events import TYPES, Hand, Result
from shoed.observations import Device, Pair
from shoed.table.phase import Phase
from shoed.table.public import LastRound, PublicDevice, PublicHands, PublicState
from shoed.table.question import PublicQuestion
from shoed.table.state import Comparison, Fault, Link

EVENTS: Final[Mapping[str, type[EventData]]] = {f"shoed.{kind}": data for data, kind in TYPES.items()}
ANSWERS: Final[Mapping[type[EventData], Comparison]] = {
    events.RoundConfirmed: Comparison.CONFIRMED,
    events.RoundDisputed: Comparison.DISPUTED,
    events.RoundUnconfirmed: Comparison.UNCONFIRMED,
}
NO_HANDS: Final = PublicHands(Hand((), 0), Hand((), 0))

REMEMBERED: Final = 100  # completed rounds: more than a shoe has


class ShownDevice(msgspec.Struct, frozen=True):
    of: PublicDevice
    port: str = ""


UNKNOWN: Final = ShownDevice(PublicDevice(Link.OFFLINE, "nothing is known of it yet", None, None, locked=False))
ONE_DEVICE: Final[Mapping[Device, ShownDevice]] = MappingProxyType({Device.SHOE: UNKNOWN})


class Told(msgspec.Struct, frozen=True):
    """One event, and where it stands among the table's."""

    sequence: int
    kind: str
    data: EventData


class Retained(msgspec.Struct, frozen=True):
    """The question as it is retained; None: none is open."""

    question: PublicQuestion | None


Heard = Status | PublicState | Told | Retained


class TableView(msgspec.Struct, frozen=True):
    presence: Status | None = None  # the daemon's
    sequence: int = 0  # of the last event that is included
    game: str = ""
    shoe: int | None = None
    cut: bool = False
    round: int | None = None
    phase: Phase = Phase.IDLE
    hands: PublicHands = NO_HANDS
    past: tuple[LastRound, ...] = ()  # the newest last
    devices: Mapping[Device, ShownDevice] = ONE_DEVICE
    question: PublicQuestion | None = None  # the one that is asked first
    remark: Told | None = None  # the last event that the rest of the view does not show


def read(topic: str, payload: bytes) -> tuple[str, Heard] | None:
    """Whose message it is, and what it says; None if that is nothing to us."""
    match topic.split("/"):
        case ["shoed", "v1", _, table, leaf, *_]:
            try:
                heard = said(leaf, payload)
            except (msgspec.DecodeError, ValueError):
                return None
            return None if heard is None else (table, heard)
        case _:
            return None


def said(leaf: str, payload: bytes) -> Heard | None:
    match leaf:
        case "status":
            return msgspec.json.decode(payload, type=Status)
        case "state":
            return msgspec.json.decode(payload, type=PublicState)
        case "question":
            return Retained(msgspec.json.decode(payload, type=PublicQuestion) if payload else None)
        case "event":
            envelope = msgspec.json.decode(payload, type=CloudEvent)
            if envelope.type in EVENTS:
                data = msgspec.json.decode(envelope.data, type=EVENTS[envelope.type])
                return Told(int(envelope.sequence), envelope.type.removeprefix("shoed."), data)
            return None
        case _:
            return None


def hear(view: TableView, heard: Heard) -> TableView:
    match heard:
        case Status():
            return replace(view, presence=heard)
        case Retained(question=question):
            return replace(view, question=question)
        case PublicState():  # a birth tells it before the events that it includes: who has followed those, goes on so
            return view if view.sequence else late(view, heard)
        case Told(sequence=1):
            return follow(TableView(presence=view.presence, game=view.game, sequence=1), heard)
        case Told():
            return follow(replace(view, sequence=heard.sequence), heard) if heard.sequence > view.sequence else view
        case _:
            assert_never(heard)


def late(view: TableView, state: PublicState) -> TableView:
    devices = ((Device.SHOE, state.device), (Device.SHUFFLER, state.shuffler))
    return replace(
        view,
        sequence=int(state.sequence),
        game=state.game,
        shoe=state.shoe,
        round=state.round,
        phase=state.phase,
        hands=state.hands,
        past=(state.last_round,) if state.last_round else (),
        devices={device: ShownDevice(of) for device, of in devices if of is not None},
    )


OF_A_ROUND: Final = (
    *(events.QuestionAsked, events.QuestionRevised, events.QuestionAnswered),
    *(events.RoundVoided, events.RoundSettled),
)


def of_the_past(view: TableView, told: Told) -> TableView:
    """A question of an earlier round is open, or an answer to it voided or settled that round."""
    voided = told.data if isinstance(told.data, events.RoundVoided) else None
    if voided is not None and voided.supersedes is not None:
        view = replace(view, past=amended(view.past, voided, void=True))
    return replace(view, remark=told)


def follow(view: TableView, told: Told) -> TableView:  # noqa: C901, PLR0912 -- one case an event
    data = told.data
    over = isinstance(data, OF_A_ROUND) and (data.shoe, data.round) != (view.shoe, view.round)
    late = isinstance(data, events.QuestionRevised | events.RoundVoided) and view.phase is Phase.ABANDONED
    if over or late:
        return of_the_past(view, told)
    match data:
        case events.ShoeStarted(shoe=shoe):
            return replace(view, shoe=shoe, cut=False, round=None, phase=Phase.IDLE, hands=NO_HANDS)
        case events.ShoeCut():
            return replace(view, cut=True)
        case events.RoundStarted(shoe=shoe, round=number, game=game, opened_by=opened_by):
            phase = Phase.BETTING if opened_by == "announcement" else Phase.DEALING
            return replace(view, shoe=shoe, round=number, game=game, phase=phase, hands=NO_HANDS)
        case events.BetsClosed():
            return replace(view, phase=Phase.CLOSED) if view.phase is Phase.BETTING else view
        case events.CardDrawn() as drawn:
            return with_card(view, drawn)
        case events.RoundCompleted() as ended:
            result, hands = Result(ended.outcome, ended.pairs), PublicHands(ended.player, ended.banker)
            played = LastRound(ended.shoe, ended.round, hands, result, ended.integrity, Comparison.AWAITED, void=False)
            past = (*view.past, played)[-REMEMBERED:]
            return replace(view, phase=Phase.COMPLETE, hands=hands, past=past, remark=None)
        case events.RoundConfirmed() | events.RoundDisputed() | events.RoundUnconfirmed() as answered:
            return replace(view, past=answer(view.past, answered))
        case events.CardSetAside(shoe=shoe):
            return replace(view, shoe=shoe, remark=told)
        case events.RoundSuspended():
            return replace(view, phase=Phase.SUSPENDED, remark=told)
        case events.QuestionAsked(player=player, banker=banker) | events.QuestionRevised(player=player, banker=banker):
            return replace(view, hands=PublicHands(player, banker), remark=told)
        case events.RoundResumed(player=player, banker=banker, phase=phase):
            return replace(view, phase=Phase(phase), hands=PublicHands(player, banker), remark=None)
        case events.RoundCorrected() as right:
            return corrected(view, right)
        case events.RoundVoided(player=player, banker=banker) as void:
            view = replace(view, phase=Phase.VOIDED, hands=PublicHands(player, banker), remark=told)
            return view if void.supersedes is None else replace(view, past=amended(view.past, void, void=True))
        case events.RoundSettled():
            return replace(view, phase=Phase.SETTLED)
        case device_events.OfDevice(device=device) as data:
            shown = of_device(view.devices.get(device, UNKNOWN), data)
            return replace(view, devices={**view.devices, device: shown}) if shown else replace(view, remark=told)
        case _:
            return replace(view, remark=told)


def of_device(shown: ShownDevice, told: device_events.OfDevice) -> ShownDevice | None:
    """How the device is behind this event; None if that is no matter of its line, its fault or its lock."""
    of = shown.of
    match told:
        case device_events.DeviceOnline(port=port):
            return ShownDevice(replace(of, link=Link.ONLINE, reason=None), port)
        case device_events.DeviceQuiet(port=port):
            return ShownDevice(replace(of, link=Link.QUIET), port)
        case device_events.DeviceOffline(port=port, reason=reason):
            return ShownDevice(replace(of, link=Link.OFFLINE, reason=reason), port)
        case device_events.DeviceDoubted(reason=reason, detail=detail):
            return replace(shown, of=replace(of, reason=f"{reason.value}: {detail}"))
        case device_events.DeviceTrusted():
            return replace(shown, of=replace(of, reason=None))  # the state that follows has the doubts that still stand
        case device_events.DeviceFault(code=code, name=name, blocking=blocking):
            return replace(shown, of=replace(of, fault=Fault(code, name, blocking)))
        case device_events.DeviceCleared():
            return replace(shown, of=replace(of, fault=None))
        case device_events.DeviceLocked() | device_events.DeviceUnlocked():
            return replace(shown, of=replace(of, locked=isinstance(told, device_events.DeviceLocked)))
        case _:
            return None


def with_card(view: TableView, drawn: events.CardDrawn) -> TableView:
    player, banker = view.hands.player.cards, view.hands.banker.cards
    if drawn.hand is Pair.PLAYER:
        player = (*player, drawn.card)
    else:
        banker = (*banker, drawn.card)
    hands = PublicHands(Hand(player, drawn.points.player), Hand(banker, drawn.points.banker))
    # A card that was set aside before is drawn while the round waits, or after its end.
    phase = Phase.DEALING if view.phase in (Phase.CLOSED, Phase.DEALING) else view.phase
    return replace(view, phase=phase, hands=hands)


def corrected(view: TableView, right: events.RoundCorrected) -> TableView:
    """A round that waits still waits."""
    phase = Phase.DEALING if right.outcome is None else Phase.CORRECTED
    phase = view.phase if view.phase is Phase.SUSPENDED else phase
    hands = PublicHands(right.player, right.banker)
    if right.outcome is None:
        past = tuple(each for each in view.past if (each.shoe, each.round) != (right.shoe, right.round))
        return replace(view, phase=phase, hands=hands, past=past)
    result = Result(right.outcome, right.pairs)
    past = amended(view.past, right, hands=hands, result=result, answer=Comparison.AWAITED)
    return replace(view, phase=phase, hands=hands, past=past)


def amended(
    past: tuple[LastRound, ...], told: events.RoundCorrected | events.RoundVoided, **changes: object
) -> tuple[LastRound, ...]:
    return tuple(
        replace(each, **changes) if (each.shoe, each.round) == (told.shoe, told.round) else each for each in past
    )


def answer(
    past: tuple[LastRound, ...], answered: events.RoundConfirmed | events.RoundDisputed | events.RoundUnconfirmed
) -> tuple[LastRound, ...]:
    if past and (past[-1].shoe, past[-1].round) == (answered.shoe, answered.round):
        return (*past[:-1], replace(past[-1], answer=ANSWERS[type(answered)]))
    return past
