"""An Angel Eye shoe, seen from the host.

Theory of operation: every report comes up to three times, numbered '1' to '9'. The first good copy
is taken; equal bytes right after it are copies of it and are dropped; the same number with other
bytes is taken too, with a warning. Nothing is ever written to the shoe but an order of the table, and
only where orders are allowed.

The number of the next report tells whether any was lost. On an open line a jump says so. After the link
or the daemon was away a jump says so, too, but the successor alone proves nothing: nine lost reports lead
to the same number (observed: '1' to '9'). The successor proves that nothing was missed only if nine
reports cannot have passed unheard:
- No report is shorter than six bytes, and the shoe sends each of them `copies` times (documented). So nine of
  them occupy the line for 9 x copies x 6 bytes at least: 338 ms at 4800 baud.
- `min_draw_gap_ms` does not lengthen that. A hand draws no two cards so soon, but nothing says that reports of
  errors, of the key, of presets and of stand-by do not follow each other at the speed of the line (assumed).
- Bytes may have passed unheard between the last byte heard and the next opening of the link, and at no other
  time. Bytes that were heard and rejected since the last report may have been reports: they count as unheard.
- Bytes are heard when the shoe sends them (assumed). A device server that keeps bytes and then loses them makes
  an absence look shorter than it is.
- Some emulators do not advance on a start of communication (observed), so that a loss right behind one leaves
  the successor. After such a report the successor proves nothing.
"""

from collections.abc import Mapping, Sequence
from enum import Enum, auto
from typing import Final, TypeAlias, assert_never

import msgspec
from msgspec.structs import replace

from firmware_protocols import angel_eye as theirs
from firmware_protocols.angel_eye import FAULTS, FOLLOWING, AngelEyeSettings, FromShoe, Report
from firmware_protocols.angel_eye.layout import REFUSALS
from firmware_protocols.family import Line, Reason
from shoed.cards import Card, Rank, Suit
from shoed.now import Now
from shoed.observations import (
    AnyObservation,
    CardSeen,
    CommunicationStarted,
    Continuity,
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
    Replied,
    ResultSeen,
    Resumed,
    SequenceClashed,
    SequenceJumped,
    StoodBy,
)
from shoed.session import Heard, link
from shoed.session.asking import Asking, AskingState
from shoed.step import AnyInput, DeviceOrder, DeviceOrderKind, LinkUp
from shoed.wire import Frame, Rejected
from shoed.words import OverdrawnCard

SUITS: Final[Mapping[theirs.Suit, Suit]] = {
    theirs.Suit.DIAMONDS: Suit.DIAMONDS,
    theirs.Suit.CLUBS: Suit.CLUBS,
    theirs.Suit.SPADES: Suit.SPADES,
    theirs.Suit.HEARTS: Suit.HEARTS,
}
CARDS: Final = {theirs.Face(suit, rank.value): Card.of(rank, ours) for suit, ours in SUITS.items() for rank in Rank}
TheirPlace: TypeAlias = theirs.Target | theirs.UnknownTarget | theirs.Situation | theirs.UnknownSituation
PLACES: Final[Mapping[TheirPlace, Place]] = {
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


REFUSED: Final = {each.name: f"{each.number:02X}: {each.meaning}" for each in REFUSALS}
CLEARING: Final[Mapping[OverdrawnCard | None, theirs.Order]] = {
    None: theirs.CLEAR_ERROR,
    OverdrawnCard.USE: theirs.USE_OVERDRAWN,
    OverdrawnCard.DISCARD: theirs.DISCARD_OVERDRAWN,
}
SHORTEST: Final = 6  # bytes of a report without data, as of a stand-by: ENQ, number, command, ETX and two of the BCC
COMMAND: Final = slice(2, 3)  # of a report, after ENQ and its number
START: Final = b"S"  # of communication


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
    # Since the last report:
    unheard_ns: int | None = 0  # while bytes may have passed unheard; None: no clock measures it
    rejected: int = 0  # bytes that were heard and may have been reports


def relation(
    settings: AngelEyeSettings, state: AngelEyeState, frame: Frame[FromShoe], sequence: str, late_ns: int = 0
) -> Repeat:
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
    soon = state.away or elapsed_ms - late_ns / 1e6 <= settings.repeat_window_ms
    return Repeat.COPY if soon and last.copies < settings.copies else Repeat.NEW


def between(before: Now, after: Now) -> int | None:
    """The longest time that may lie between two moments, in nanoseconds; None: no clock measures it.

    The monotonic clock stands still while a machine sleeps, and begins again with each boot, perhaps with more
    than the last boot showed. UTC is set by people and by the network.
    """
    mono_ns, utc_ns = after.mono_ns - before.mono_ns, (after.utc_us - before.utc_us) * 1000
    if utc_ns < 0 or (mono_ns < 0 and utc_ns == 0):
        return None
    return max(mono_ns, utc_ns)


def missed(expected: str | None, sequence: str) -> int:
    """At least so many reports were missed, if the shoe went on counting (assumed); 0: no such number is known."""
    if expected is None or sequence not in FOLLOWING:
        return 0
    return (int(sequence) - int(expected)) % len(FOLLOWING)


class AngelEyeSession:
    state_type = AngelEyeState

    def __init__(self, settings: AngelEyeSettings, *, allow_orders: bool) -> None:
        self.settings = settings
        self.allow_orders = allow_orders
        self.reports = theirs.reports(settings)
        self.byte_ns = Line(settings.line_baud).seconds_per_byte * 1e9
        self.cycle_ns = len(FOLLOWING) * settings.copies * SHORTEST * self.byte_ns

    def begin(self) -> AngelEyeState:
        return AngelEyeState()

    def wake_at(self, state: AngelEyeState) -> int | None:
        return link.wake_at(self.reports, state, self.settings.quiet_after_s, state.asked_until)

    def step(self, state: AngelEyeState, came: AnyInput, now: Now) -> tuple[AngelEyeState, Heard]:
        hearing = AngelEyeHearing(self, state)
        hearing.take(came, now)
        return hearing.state, hearing.outcome(*hearing.sends)


class AngelEyeHearing(Asking[AngelEyeState, FromShoe]):
    def __init__(self, session: AngelEyeSession, state: AngelEyeState) -> None:
        self.session, settings = session, session.settings
        super().__init__(
            session.reports,
            settings.quiet_after_s,
            state,
            allow_orders=session.allow_orders,
            order_timeout_ms=settings.order_timeout_ms,
        )
        self.sends: list[bytes] = []

    def send(self, order: DeviceOrder) -> str:
        self.sends.append(theirs.build(as_theirs(order), self.session.settings))
        return ""

    def take(self, came: AnyInput, now: Now) -> None:
        heard = self.state.heard
        if isinstance(came, LinkUp) and self.state.away and heard is not None and self.state.unheard_ns is not None:
            away_ns = between(heard, now)
            self.state = replace(self.state, unheard_ns=None if away_ns is None else self.state.unheard_ns + away_ns)
        super().take(came, now)

    def frames(self, found: Sequence[Frame[FromShoe] | Rejected]) -> None:
        for each in found:
            if isinstance(each, Rejected):
                self.state = replace(self.state, rejected=self.state.rejected + len(each.raw))
            super().frames((each,))

    def said(self, frame: Frame[FromShoe]) -> None:
        match frame.message:
            case theirs.Acknowledge() | theirs.Refuse() if self.noisy and self.state.asked is None:
                # One byte in 128 of random noise is an ACK or a NAK with a code.
                self.reject(frame.raw, frame.offset, frame.at, Reason.JUNK, "an answer without an order, in noise")
            case theirs.Acknowledge():
                self.answer(frame.at, accepted=True, detail="")
            case theirs.Refuse(code=code):
                # Rows of earlier versions hold the name of a refusal that answers another host's order.
                detail = code.value if self.state.asked is None else REFUSED[code]
                self.answer(frame.at, accepted=False, detail=detail, form=theirs.form_of(frame.raw).value)
            case theirs.Reply(text=text):
                form = theirs.form_of(frame.raw).value
                self.saw(Replied(at=frame.at, frame=Evidence(frame.raw.hex(" "), frame.offset, "", form), text=text))
            case report:
                self.report(frame, report)

    # --- reports

    def report(self, frame: Frame[FromShoe], message: Report) -> None:
        last = self.state.last
        form = theirs.form_of(frame.raw).value
        evidence = Evidence(frame.raw.hex(" "), frame.offset, message.sequence, form)
        repeat = relation(self.session.settings, self.state, frame, message.sequence, self.late_ns)
        if repeat is Repeat.COPY and last is not None:
            self.state = replace(self.state, last=replace(last, copies=last.copies + 1))
            self.saw(CopyHeard(at=frame.at, frame=evidence))
            return
        if last is not None:
            self.continuity(frame.at, evidence, last, repeat, message)
        last = Accepted(frame.raw, message.sequence, frame.at)
        self.state = replace(self.state, last=last, away=False, unheard_ns=0, rejected=0)
        self.saw(observation(message, frame.at, evidence))

    def continuity(self, at: Now, evidence: Evidence, last: Accepted, repeat: Repeat, message: Report) -> None:
        """What the sequence says about what may have been missed since the last report."""
        expected = FOLLOWING.get(last.sequence)
        due = evidence.sequence == expected
        starts = isinstance(message, theirs.StartOfCommunication)  # the shoe was away, too, and may count from 1 again
        lost = 0 if starts or repeat is Repeat.CLASH else missed(expected, evidence.sequence)
        if self.state.away and expected is not None and lost:
            known = Continuity.LOST
            self.saw(Resumed(at=at, frame=evidence, continuity=known, missed_at_least=lost, expected=expected))
        elif self.state.away:
            proven = due and self.within_a_cycle and last.raw[COMMAND] != START
            known = Continuity.PROVEN if proven else Continuity.UNKNOWN
            self.saw(Resumed(at=at, frame=evidence, continuity=known))
        elif repeat is Repeat.CLASH:
            self.saw(SequenceClashed(at=at, frame=evidence, previous=last.raw.hex(" ")))
        elif due or expected is None:
            return
        elif starts:
            self.saw(Resumed(at=at, frame=evidence))
        else:
            self.saw(SequenceJumped(at=at, frame=evidence, expected=expected, missed_at_least=lost))

    @property
    def within_a_cycle(self) -> bool:
        """Whether fewer reports than the numbers count can have passed unheard."""
        unheard_ns = self.state.unheard_ns
        return (
            unheard_ns is not None and unheard_ns + self.state.rejected * self.session.byte_ns < self.session.cycle_ns
        )


def as_theirs(order: DeviceOrder) -> theirs.Order:
    match order.kind:
        case DeviceOrderKind.LOCK:
            return theirs.LOCK
        case DeviceOrderKind.UNLOCK:
            return theirs.UNLOCK
        case DeviceOrderKind.CONFIRM:
            return theirs.CONFIRM_PROCESS
        case DeviceOrderKind.CLEAR_FAULT:
            return CLEARING[order.card]
        case _:
            assert_never(order.kind)


def observation(message: Report, at: Now, evidence: Evidence) -> AnyObservation:  # noqa: C901 -- one line a report
    match message:
        case theirs.CardInGame(target=target, index=index, card=card):
            place = PLACES.get(target, Place.UNKNOWN)
            position = 0 if place is Place.UNKNOWN else index  # of an unknown target the index means nothing
            return replace(card_seen(at, evidence, place, position, card), unknown=unnamed(target))
        case theirs.CardOutside(situation=situation, card=card):
            place = PLACES.get(situation, Place.UNKNOWN)
            return replace(card_seen(at, evidence, place, 0, card), unknown=unnamed(situation))
        case theirs.OverdrawCard(target=target, index=index, card=card):
            slot = f"{PLACES[target].value} {index}" if target in PLACES else ""
            seen = card_seen(at, evidence, Place.OVERDRAW, index, card)
            return replace(seen, unknown=unnamed(target), target=slot)
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


def unnamed(value: TheirPlace) -> str:
    """The value, if the page does not name it; else empty."""
    match value:
        case theirs.UnknownTarget(code=code):
            return f"target {code}"
        case theirs.UnknownSituation(code=code):
            return f"situation {code}"
        case _:
            return ""


def fault_name(code: int) -> str:
    return FAULTS[code].value if code in FAULTS else "unnamed"
