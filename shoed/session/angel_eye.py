"""An Angel Eye shoe, seen from the host.

Theory of operation: every report comes up to three times, numbered '1' to '9'. The first good copy
is taken; equal bytes right after it are copies of it and are dropped; the same number with other
bytes is taken too, with a warning. The number of the next report tells whether any was lost: on an
open line a jump says so, and after the link, the daemon or the shoe was away the successor proves
that nothing was missed. Nothing is ever written to the shoe but an order of the table, and only
where orders are allowed.
"""

from collections.abc import Mapping
from enum import Enum, auto
from typing import Final, assert_never

import msgspec
from msgspec.structs import replace

from firmware_protocols import angel_eye as theirs
from firmware_protocols.angel_eye import FAULTS, FOLLOWING, AngelEyeSettings, FromShoe, Report
from firmware_protocols.angel_eye.layout import NUMBERS
from shoed.cards import Card, Rank, Suit
from shoed.now import Now
from shoed.observations import (
    AnyObservation,
    CardSeen,
    CommunicationStarted,
    CopyHeard,
    CutCardSeen,
    Evidence,
    FaultCleared,
    FaultMeaning,
    FaultRaised,
    LockChanged,
    Outcome,
    Pair,
    Place,
    PresetChanged,
    ResultSeen,
    Resumed,
    SequenceClashed,
    SequenceJumped,
    StoodBy,
)
from shoed.session import Heard, link
from shoed.session.asking import Asking, AskingState
from shoed.step import AnyInput, Order, OrderKind
from shoed.wire import Frame

SUITS: Final[Mapping[theirs.Suit, Suit]] = {
    theirs.Suit.DIAMONDS: Suit.DIAMONDS,
    theirs.Suit.CLUBS: Suit.CLUBS,
    theirs.Suit.SPADES: Suit.SPADES,
    theirs.Suit.HEARTS: Suit.HEARTS,
}
CARDS: Final = {theirs.Face(suit, rank.value): Card.of(rank, ours) for suit, ours in SUITS.items() for rank in Rank}
PLACES: Final[Mapping[theirs.Target | theirs.Situation, Place]] = {
    theirs.Target.PLAYER: Place.PLAYER,
    theirs.Target.BANKER: Place.BANKER,
    theirs.Target.BURN: Place.BURN,
    theirs.Target.FIRST_CARD: Place.FIRST_CARD,
    theirs.Target.BURN_COUNT: Place.BURN,
    theirs.Situation.LOCKED: Place.LOCKED,
    theirs.Situation.ERROR: Place.ERROR,
    theirs.Situation.SET_UP: Place.SET_UP,
}
OUTCOMES: Final[Mapping[theirs.Outcome, Outcome]] = {
    theirs.Outcome.PLAYER: Outcome.PLAYER,
    theirs.Outcome.TIE: Outcome.TIE,
    theirs.Outcome.BANKER: Outcome.BANKER,
    theirs.Outcome.FORCED_END: Outcome.FORCED_END,
}


MEANINGS: Final[Mapping[theirs.Fault | None, FaultMeaning]] = {
    theirs.Fault.CANNOT_READ: FaultMeaning.UNREAD,
    theirs.Fault.CARD_CODE: FaultMeaning.BAD_CODE,
    theirs.Fault.DRAW_TIMED_OUT: FaultMeaning.SLOW,
    theirs.Fault.OVERDRAW: FaultMeaning.OVERDRAW,
    theirs.Fault.REVERSE_AT_EXIT: FaultMeaning.REVERSED,
    theirs.Fault.REVERSE_MIDWAY: FaultMeaning.REVERSED,
}


class Repeat(Enum):
    """How a report relates to the last one that was accepted."""

    NEW = auto()  # take it
    COPY = auto()  # one more of its transmissions: count it, drop it
    CLASH = auto()  # same sequence, other bytes: take it and warn


class Accepted(msgspec.Struct, frozen=True):
    raw: bytes
    sequence: str
    at: Now  # of its first good copy
    copies: int = 1


class AngelEyeState(AskingState, frozen=True):
    last: Accepted | None = None


def relation(settings: AngelEyeSettings, state: AngelEyeState, frame: Frame[FromShoe], sequence: str) -> Repeat:
    """Sequences wrap after 9, so equal reports recur in honest play: a copy is also soon, and one of so many.

    What a line held back while we were away comes as late as we do, so the clock says nothing then. Were
    it a new report after all, the next one is not due and the round waits for a person.
    """
    last = state.last
    if last is None or sequence != last.sequence:
        return Repeat.NEW
    if frame.raw != last.raw:
        return Repeat.CLASH
    elapsed_ms = (frame.at.mono_ns - last.at.mono_ns) / 1e6
    if elapsed_ms < 0:  # the clock of another boot: no buffer outlived that
        return Repeat.NEW
    soon = state.away or elapsed_ms <= settings.repeat_window_ms
    return Repeat.COPY if soon and last.copies < settings.copies else Repeat.NEW


class AngelEyeSession:
    state_type = AngelEyeState

    def __init__(self, settings: AngelEyeSettings, *, allow_orders: bool) -> None:
        self.settings = settings
        self.allow_orders = allow_orders
        self.reports = theirs.reports(settings)

    def begin(self) -> AngelEyeState:
        return AngelEyeState()

    def wake_at(self, state: AngelEyeState) -> int | None:
        return link.wake_at(self.reports, state, self.settings.quiet_after_s, state.asked_until)

    def step(self, state: AngelEyeState, came: AnyInput, now: Now) -> tuple[AngelEyeState, Heard]:
        hearing = AngelEyeHearing(self, state)
        hearing.take(came, now)
        return hearing.state, Heard(tuple(hearing.observations), tuple(hearing.sends))


class AngelEyeHearing(Asking[AngelEyeState, FromShoe]):
    def __init__(self, session: AngelEyeSession, state: AngelEyeState) -> None:
        settings = self.settings = session.settings
        super().__init__(
            session.reports,
            settings.quiet_after_s,
            state,
            allow_orders=session.allow_orders,
            order_timeout_ms=settings.order_timeout_ms,
        )
        self.sends: list[bytes] = []

    def send(self, order: Order) -> str:
        wanted = as_theirs(order)
        if (unsayable := no_number(wanted)) is not None:
            return unsayable
        self.sends.append(theirs.build(wanted, self.settings))
        return ""

    def said(self, frame: Frame[FromShoe]) -> None:
        match frame.message:
            case theirs.Acknowledge():
                self.answer(frame.at, accepted=True, detail="")
            case theirs.Refuse(code=code):
                self.answer(frame.at, accepted=False, detail=code.value)
            case report:
                self.report(frame, report)

    # --- reports

    def report(self, frame: Frame[FromShoe], message: Report) -> None:
        last = self.state.last
        evidence = Evidence(frame.raw.hex(" "), frame.offset, message.sequence)
        repeat = relation(self.settings, self.state, frame, message.sequence)
        if repeat is Repeat.COPY and last is not None:
            self.state = replace(self.state, last=replace(last, copies=last.copies + 1))
            self.saw(CopyHeard(at=frame.at, frame=evidence))
            return
        if last is not None:
            self.continuity(frame.at, evidence, last, repeat, message)
        self.state = replace(self.state, last=Accepted(frame.raw, message.sequence, frame.at), away=False)
        self.saw(observation(message, frame.at, evidence))

    def continuity(self, at: Now, evidence: Evidence, last: Accepted, repeat: Repeat, message: Report) -> None:
        """What the sequence says about what may have been missed since the last report."""
        expected = FOLLOWING.get(last.sequence)
        proven = evidence.sequence == expected
        if self.state.away:
            self.saw(Resumed(at=at, frame=evidence, proven=proven))
        elif repeat is Repeat.CLASH:
            self.saw(SequenceClashed(at=at, frame=evidence, previous=last.raw.hex(" ")))
        elif proven or expected is None:
            return
        elif isinstance(message, theirs.StartOfCommunication):  # the shoe was away, and may count anew
            self.saw(Resumed(at=at, frame=evidence, proven=False))
        else:
            self.saw(SequenceJumped(at=at, frame=evidence, expected=expected))


def as_theirs(order: Order) -> theirs.Order:
    match order.kind:
        case OrderKind.LOCK:
            return theirs.LOCK
        case OrderKind.UNLOCK:
            return theirs.UNLOCK
        case OrderKind.CONFIRM:
            return theirs.CONFIRM_PROCESS
        case OrderKind.CLEAR_ERROR:
            return theirs.Order(theirs.OrderType.ERROR_CLEAR, order.number)
        case _:
            assert_never(order.kind)


def no_number(order: theirs.Order) -> str | None:
    """Why the line cannot carry an order: an error may have a code that no order has."""
    numbers = NUMBERS[order.type]
    return None if order.number in numbers else f"an order {order.type.value} carries {numbers[0]} to {numbers[-1]}"


def observation(message: Report, at: Now, evidence: Evidence) -> AnyObservation:  # noqa: C901 -- one line a report
    match message:
        case theirs.CardInGame(target=target, index=index, card=card):
            return card_seen(at, evidence, PLACES[target], index, card)
        case theirs.CardOutside(situation=situation, card=card):
            return card_seen(at, evidence, PLACES[situation], 0, card)
        case theirs.OverdrawCard(index=index, card=card):
            return card_seen(at, evidence, Place.OVERDRAW, index, card)
        case theirs.Result(outcome=outcome, player_pair=player, banker_pair=banker):
            pairs = ((Pair.PLAYER,) if player else ()) + ((Pair.BANKER,) if banker else ())
            return ResultSeen(at=at, frame=evidence, outcome=OUTCOMES[outcome], pairs=pairs)
        case theirs.ErrorRaised(in_error_mode=blocking, code=code):
            return FaultRaised(
                at=at,
                frame=evidence,
                code=code,
                name=fault_name(code),
                blocking=blocking,
                meaning=MEANINGS.get(FAULTS.get(code)),
            )
        case theirs.ErrorCleared(code=code):
            return FaultCleared(at=at, frame=evidence, code=code, name=fault_name(code))
        case theirs.KeyLock(locked=locked):
            return LockChanged(at=at, frame=evidence, locked=locked)
        case theirs.PresetChanged(address=address, value=value):
            return PresetChanged(at=at, frame=evidence, address=address, value=value)
        case theirs.StartOfCommunication():
            return CommunicationStarted(at=at, frame=evidence)
        case theirs.StandBy():
            return StoodBy(at=at, frame=evidence)
        case theirs.CuttingCard():
            return CutCardSeen(at=at, frame=evidence)
        case _:
            assert_never(message)


def card_seen(at: Now, evidence: Evidence, place: Place, position: int, code: theirs.CardCode) -> CardSeen:
    if isinstance(code, theirs.Face):
        return CardSeen(at=at, frame=evidence, place=place, position=position, card=CARDS[code])
    return CardSeen(at=at, frame=evidence, place=place, position=position, card=None, code=f"{code.code:02x}")


def fault_name(code: int) -> str:
    return FAULTS[code].value if code in FAULTS else "unnamed"
