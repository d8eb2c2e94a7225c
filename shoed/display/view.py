"""A subscriber's view of a table: a fold over the messages of its topics.

Theory of operation: the events arrive in order and contain all information. The retained state replaces the events that
were published before the subscription. The view ignores unknown topics and events, as every subscriber must.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, assert_never

import msgspec
from msgspec.structs import replace

from shoed.bus.messages import CloudEvent, StatusMessage
from shoed.model import device_events, events
from shoed.model.device_events import EventData
from shoed.model.events import TYPES, Hand, RoundResult
from shoed.model.observations import Device, Side
from shoed.table.phase import Phase
from shoed.table.public_question import PublicQuestion
from shoed.table.public_state import LastRound, PublicDevice, PublicHands, PublicState
from shoed.table.state import Comparison, LinkStatus, RaisedFault
from shoed.typed_json import decoder

EVENTS: Final[Mapping[str, type[EventData]]] = {f"shoed.{kind}": data for data, kind in TYPES.items()}
ANSWERS: Final[Mapping[type[EventData], Comparison]] = {
    events.RoundConfirmed: Comparison.CONFIRMED,
    events.RoundDisputed: Comparison.DISPUTED,
    events.RoundUnconfirmed: Comparison.UNCONFIRMED,
}
NO_HANDS: Final = PublicHands(Hand((), 0), Hand((), 0))

REMEMBERED: Final = 100  # completed rounds: more than a shoe has


class ShownDevice(msgspec.Struct, frozen=True):
    public: PublicDevice
    port: str = ""


UNKNOWN: Final = ShownDevice(PublicDevice(LinkStatus.OFFLINE, "no state is known yet", None, None, locked=False))
ONE_DEVICE: Final[Mapping[Device, ShownDevice]] = MappingProxyType({Device.SHOE: UNKNOWN})


class ShownEvent(msgspec.Struct, frozen=True):
    """One event with its sequence number. `word`: the word in its id."""

    sequence: int
    kind: str
    data: EventData
    word: str = ""


class Retained(msgspec.Struct, frozen=True):
    """The retained question. None: no question is open."""

    question: PublicQuestion | None


Update = StatusMessage | PublicState | ShownEvent | Retained


class TableView(msgspec.Struct, frozen=True):
    presence: StatusMessage | None = None  # the presence of the daemon
    sequence: int = 0  # of the last included event
    word: str = ""  # in the id of this event; "": unknown
    game: str = ""
    shoe: int | None = None
    cut: bool = False
    round: int | None = None
    phase: Phase = Phase.IDLE
    hands: PublicHands = NO_HANDS
    past: tuple[LastRound, ...] = ()  # the newest last
    devices: Mapping[Device, ShownDevice] = ONE_DEVICE
    question: PublicQuestion | None = None  # the first open question
    remark: ShownEvent | None = None  # the last event that no other field shows


def read(topic: str, payload: bytes) -> tuple[str, Update] | None:
    """The table of a message, and its content; None if the message is unknown."""
    match topic.split("/"):
        case ["shoed", "v1", _, table, leaf, *_]:
            try:
                update = update_of(leaf, payload)
            except (msgspec.DecodeError, ValueError):
                return None
            return None if update is None else (table, update)
        case _:
            return None


def update_of(leaf: str, payload: bytes) -> Update | None:
    match leaf:
        case "status":
            return decoder(StatusMessage).decode(payload)
        case "state":
            return decoder(PublicState).decode(payload)
        case "question":
            return Retained(decoder(PublicQuestion).decode(payload) if payload else None)
        case "event":
            envelope = decoder(CloudEvent).decode(payload)
            if envelope.type in EVENTS:
                data = decoder(EVENTS[envelope.type]).decode(envelope.data)
                word = envelope.id.partition("-")[0]
                return ShownEvent(int(envelope.sequence), envelope.type.removeprefix("shoed."), data, word)
            return None
        case _:
            return None


def updated(view: TableView, update: Update) -> TableView:
    match update:
        case StatusMessage():
            return replace(view, presence=update)
        case Retained(question=question):
            return replace(view, question=question)
        case PublicState():  # at a birth the state precedes the events that it includes; a view with events ignores it
            return view if view.sequence and not is_other(view, update.incarnation) else from_state(view, update)
        case ShownEvent(sequence=1):
            view = TableView(presence=view.presence, game=view.game, sequence=1, word=update.word)
            return follow(view, update)
        case ShownEvent():
            if update.sequence <= view.sequence and not is_other(view, update.word):
                return view
            return follow(replace(view, sequence=update.sequence, word=update.word), update)
        case _:
            assert_never(update)


def is_other(view: TableView, word: str | None) -> bool:
    """Whether this is the word of another incarnation of the journal: its sequence numbers may be lower."""
    return bool(word and view.word and word != view.word)


def from_state(view: TableView, state: PublicState) -> TableView:
    devices = ((Device.SHOE, state.device), (Device.SHUFFLER, state.shuffler))
    return replace(
        view,
        sequence=int(state.sequence),
        word=state.incarnation or "",
        game=state.game,
        shoe=state.shoe,
        round=state.round,
        phase=state.phase,
        hands=state.hands,
        past=(state.last_round,) if state.last_round else (),
        devices={device: ShownDevice(public) for device, public in devices if public is not None},
    )


OF_A_ROUND: Final = (
    *(events.QuestionAsked, events.QuestionRevised, events.QuestionAnswered),
    *(events.RoundVoided, events.RoundSettled),
)


def of_earlier_round(view: TableView, event: ShownEvent) -> TableView:
    """The view after an event of an earlier round: a question, its answer, or the end of that round."""
    voided = event.data if isinstance(event.data, events.RoundVoided) else None
    if voided is not None and voided.supersedes is not None:
        view = replace(view, past=amended(view.past, voided, void=True))
    return replace(view, remark=event)


def follow(view: TableView, event: ShownEvent) -> TableView:  # noqa: C901, PLR0912 -- one case for each kind of event
    data = event.data
    over = isinstance(data, OF_A_ROUND) and (data.shoe, data.round) != (view.shoe, view.round)
    late = isinstance(data, events.QuestionRevised | events.RoundVoided) and view.phase is Phase.ABANDONED
    if over or late:
        return of_earlier_round(view, event)
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
            result, hands = RoundResult(ended.outcome, ended.pairs), PublicHands(ended.player, ended.banker)
            played = LastRound(ended.shoe, ended.round, hands, result, ended.integrity, Comparison.AWAITED, void=False)
            past = (*view.past, played)[-REMEMBERED:]
            return replace(view, phase=Phase.COMPLETE, hands=hands, past=past, remark=None)
        case events.RoundConfirmed() | events.RoundDisputed() | events.RoundUnconfirmed() as answered:
            return replace(view, past=answer(view.past, answered))
        case events.CardSetAside(shoe=shoe):
            return replace(view, shoe=shoe, remark=event)
        case events.RoundSuspended():
            return replace(view, phase=Phase.SUSPENDED, remark=event)
        case events.QuestionAsked(player=player, banker=banker) | events.QuestionRevised(player=player, banker=banker):
            return replace(view, hands=PublicHands(player, banker), remark=event)
        case events.RoundResumed(player=player, banker=banker, phase=phase):
            return replace(view, phase=Phase(phase), hands=PublicHands(player, banker), remark=None)
        case events.RoundCorrected() as right:
            return corrected(view, right)
        case events.RoundVoided(player=player, banker=banker) as void:
            view = replace(view, phase=Phase.VOIDED, hands=PublicHands(player, banker), remark=event)
            return view if void.supersedes is None else replace(view, past=amended(view.past, void, void=True))
        case events.RoundSettled():
            return replace(view, phase=Phase.SETTLED)
        case device_events.DeviceEvent(device=device) as data:
            shown = of_device(view.devices.get(device, UNKNOWN), data)
            return replace(view, devices={**view.devices, device: shown}) if shown else replace(view, remark=event)
        case _:
            return replace(view, remark=event)


def of_device(shown: ShownDevice, event: device_events.DeviceEvent) -> ShownDevice | None:
    """The device after an event; None if the event does not concern its line, its fault or its lock."""
    public = shown.public
    match event:
        case device_events.DeviceOnline(port=port):
            return ShownDevice(replace(public, link=LinkStatus.ONLINE, reason=None), port)
        case device_events.DeviceQuiet(port=port):
            return ShownDevice(replace(public, link=LinkStatus.QUIET), port)
        case device_events.DeviceOffline(port=port, reason=reason):
            return ShownDevice(replace(public, link=LinkStatus.OFFLINE, reason=reason), port)
        case device_events.DeviceDoubted(reason=reason, detail=detail):
            return replace(shown, public=replace(public, reason=f"{reason.value}: {detail}"))
        case device_events.DeviceTrusted():
            return replace(shown, public=replace(public, reason=None))  # the next state contains the remaining doubts
        case device_events.DeviceFault(code=code, name=name, blocking=blocking):
            return replace(shown, public=replace(public, fault=RaisedFault(code, name, blocking)))
        case device_events.DeviceCleared():
            return replace(shown, public=replace(public, fault=None))
        case device_events.DeviceLocked() | device_events.DeviceUnlocked():
            return replace(shown, public=replace(public, locked=isinstance(event, device_events.DeviceLocked)))
        case _:
            return None


def with_card(view: TableView, drawn: events.CardDrawn) -> TableView:
    player, banker = view.hands.player.cards, view.hands.banker.cards
    if drawn.hand is Side.PLAYER:
        player = (*player, drawn.card)
    else:
        banker = (*banker, drawn.card)
    hands = PublicHands(Hand(player, drawn.points.player), Hand(banker, drawn.points.banker))
    # A card that was set aside earlier may be drawn while the round is suspended, or after its end.
    phase = Phase.DEALING if view.phase in (Phase.CLOSED, Phase.DEALING) else view.phase
    return replace(view, phase=phase, hands=hands)


def corrected(view: TableView, right: events.RoundCorrected) -> TableView:
    """The view after a correction. A suspended round stays suspended."""
    phase = Phase.DEALING if right.outcome is None else Phase.CORRECTED
    phase = view.phase if view.phase is Phase.SUSPENDED else phase
    hands = PublicHands(right.player, right.banker)
    if right.outcome is None:
        past = tuple(each for each in view.past if (each.shoe, each.round) != (right.shoe, right.round))
        return replace(view, phase=phase, hands=hands, past=past)
    result = RoundResult(right.outcome, right.pairs)
    past = amended(view.past, right, hands=hands, result=result, answer=Comparison.AWAITED)
    return replace(view, phase=phase, hands=hands, past=past)


def amended(
    past: tuple[LastRound, ...], event: events.RoundCorrected | events.RoundVoided, **changes: object
) -> tuple[LastRound, ...]:
    return tuple(
        replace(each, **changes) if (each.shoe, each.round) == (event.shoe, event.round) else each for each in past
    )


def answer(
    past: tuple[LastRound, ...], answered: events.RoundConfirmed | events.RoundDisputed | events.RoundUnconfirmed
) -> tuple[LastRound, ...]:
    if past and (past[-1].shoe, past[-1].round) == (answered.shoe, answered.round):
        return (*past[:-1], replace(past[-1], answer=ANSWERS[type(answered)]))
    return past
