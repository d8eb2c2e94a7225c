"""The host's session of an Angel Eye shoe.

Theory of operation: the shoe sends every report up to three times. Reports have the numbers '1' to '9'. The session
accepts the first good copy. Equal bytes directly after it are copies, and the session drops them. The same number
with different bytes is accepted with a warning. The session writes to the shoe only to send an order of the table,
and only if orders are allowed.

A jump in the numbers proves that reports were lost. This holds on an open line and after an absence of the link or
the daemon. After an absence the expected number alone proves nothing, because nine lost reports lead to the same
number (observed: '1' to '9'). The expected number proves that nothing was missed only if nine reports cannot have
passed unheard:
- The shortest report has six bytes, and the shoe sends each report `copies` times (documented). Nine reports
  therefore occupy the line for at least 9 x copies x 6 bytes: 338 ms at 4800 baud.
- `min_draw_gap_ms` does not lengthen that time. A dealer cannot draw two cards in 338 ms, but reports of errors, of
  the key, of presets and of stand-by may follow each other at the speed of the line (assumed).
- Bytes can pass unheard only between the last received byte and the next opening of the link. Bytes that were
  received and rejected since the last report may have been reports: they count as unheard.
- Bytes are received when the shoe sends them (assumed). A device server that keeps bytes and then loses them makes
  an absence look shorter than it is.
- Some emulators do not advance the number on a start of communication (observed). A report that is lost directly
  after a start of communication then leaves the expected number. After such a report the expected number proves
  nothing.
"""

from collections.abc import Mapping, Sequence
from enum import Enum, auto
from typing import Final, TypeAlias, assert_never

import msgspec
from msgspec.structs import replace

from firmware_protocols import angel_eye as theirs
from firmware_protocols.angel_eye import FAULTS, FOLLOWING, AngelEyeReport, AngelEyeSettings, FromShoe
from firmware_protocols.angel_eye.layout import REFUSALS
from firmware_protocols.family import Line, Reason
from shoed.model.cards import Card, Rank, Suit
from shoed.model.irregularities import OverdrawnCard
from shoed.model.moments import Now
from shoed.model.observations import (
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
from shoed.model.step import AnyInput, DeviceOrder, DeviceOrderKind, LinkUp
from shoed.session import SessionOutput, link
from shoed.session.device_orders import OrderingState, OrderingStep
from shoed.wire import Frame, Rejected

SUITS: Final[Mapping[theirs.AngelEyeSuit, Suit]] = {
    theirs.AngelEyeSuit.DIAMONDS: Suit.DIAMONDS,
    theirs.AngelEyeSuit.CLUBS: Suit.CLUBS,
    theirs.AngelEyeSuit.SPADES: Suit.SPADES,
    theirs.AngelEyeSuit.HEARTS: Suit.HEARTS,
}
CARDS: Final = {
    theirs.AngelEyeFace(suit, rank.value): Card.of(rank, ours) for suit, ours in SUITS.items() for rank in Rank
}
TheirPlace: TypeAlias = theirs.Target | theirs.UnknownTarget | theirs.AngelEyeSituation | theirs.UnknownSituation
PLACES: Final[Mapping[TheirPlace, Place]] = {
    theirs.Target.PLAYER: Place.PLAYER,
    theirs.Target.BANKER: Place.BANKER,
    theirs.Target.BURN: Place.BURN,
    theirs.Target.FIRST_CARD: Place.FIRST_CARD,
    theirs.Target.BURN_COUNT: Place.BURN,
    theirs.AngelEyeSituation.LOCKED: Place.LOCKED,
    theirs.AngelEyeSituation.ERROR: Place.ERROR,
    theirs.AngelEyeSituation.SET_UP: Place.SET_UP,
}
OUTCOMES: Final[Mapping[theirs.AngelEyeOutcome, Outcome]] = {
    theirs.AngelEyeOutcome.PLAYER: Outcome.PLAYER,
    theirs.AngelEyeOutcome.TIE: Outcome.TIE,
    theirs.AngelEyeOutcome.BANKER: Outcome.BANKER,
    theirs.AngelEyeOutcome.FORCED_END: Outcome.FORCED_END,
}


MEANINGS: Final[Mapping[theirs.AngelEyeFault | None, FaultMeaning]] = {
    theirs.AngelEyeFault.CANNOT_READ: FaultMeaning.UNREAD,
    theirs.AngelEyeFault.CARD_CODE: FaultMeaning.BAD_CODE,
    theirs.AngelEyeFault.DRAW_TIMED_OUT: FaultMeaning.SLOW,
    theirs.AngelEyeFault.OVERDRAW: FaultMeaning.OVERDRAW,
    theirs.AngelEyeFault.REVERSE_AT_EXIT: FaultMeaning.REVERSED,
    theirs.AngelEyeFault.REVERSE_MIDWAY: FaultMeaning.REVERSED,
}


REFUSED: Final = {each.name: f"{each.number:02X}: {each.meaning}" for each in REFUSALS}
CLEARING: Final[Mapping[OverdrawnCard | None, theirs.AngelEyeOrder]] = {
    None: theirs.CLEAR_ERROR,
    OverdrawnCard.USE: theirs.USE_OVERDRAWN,
    OverdrawnCard.DISCARD: theirs.DISCARD_OVERDRAWN,
}
SHORTEST: Final = 6  # bytes of a report without data, such as a stand-by: ENQ, number, command, ETX, two of BCC
COMMAND: Final = slice(2, 3)  # position in a report, after ENQ and the number
START: Final = b"S"  # start of communication


class Repeat(Enum):
    """How a report relates to the last accepted report."""

    NEW = auto()  # accept it
    COPY = auto()  # one more transmission of the same report: count it, drop it
    CLASH = auto()  # same sequence number, different bytes: accept it and warn


class AcceptedReport(msgspec.Struct, frozen=True):
    raw: bytes
    sequence: str
    at: Now  # when its first good copy was received
    copies: int = 1


class AngelEyeState(OrderingState, frozen=True):
    last: AcceptedReport | None = None
    # Since the last report:
    unheard_ns: int | None = 0  # the time in which bytes may have passed unheard; None: unknown
    rejected: int = 0  # received bytes that are not valid frames and may have been reports


def relation(
    settings: AngelEyeSettings, state: AngelEyeState, frame: Frame[FromShoe], sequence: str, late_ns: int = 0
) -> Repeat:
    """Classify a report by its number, its bytes and its time.

    Numbers repeat after 9, so equal reports also occur in normal play. A copy arrives soon after the first
    transmission, and the shoe sends at most `copies` of them. After an absence a buffer may deliver a copy late, so
    the session then ignores the clock. If the dropped report was new, the next report does not have the
    expected number, and the round waits for a person.
    """
    last = state.last
    if last is None or sequence != last.sequence:
        return Repeat.NEW
    if frame.raw != last.raw:
        return Repeat.CLASH
    elapsed_ms = (frame.at.mono_ns - last.at.mono_ns) / 1e6
    if elapsed_ms < 0:  # the clock of another boot: no buffer keeps bytes that long
        return Repeat.NEW
    soon = state.away or elapsed_ms - late_ns / 1e6 <= settings.repeat_window_ms
    return Repeat.COPY if soon and last.copies < settings.copies else Repeat.NEW


def between(before: Now, after: Now) -> int | None:
    """Return the longest possible time between two moments, in nanoseconds; None: no clock measures it.

    The monotonic clock stops while a machine sleeps. It restarts with each boot, possibly at a higher value than
    the last boot reached. People and the network set UTC.
    """
    mono_ns, utc_ns = after.mono_ns - before.mono_ns, (after.utc_us - before.utc_us) * 1000
    if utc_ns < 0 or (mono_ns < 0 and utc_ns == 0):
        return None
    return max(mono_ns, utc_ns)


def missed(expected: str | None, sequence: str) -> int:
    """Return the least number of missed reports; 0: unknown. Assumed: the shoe counted on while the host was away."""
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

    def step(self, state: AngelEyeState, incoming: AnyInput, now: Now) -> tuple[AngelEyeState, SessionOutput]:
        step = AngelEyeStep(self, state)
        step.take(incoming, now)
        return step.state, step.outcome(*step.sends)


class AngelEyeStep(OrderingStep[AngelEyeState, FromShoe]):
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

    def take(self, incoming: AnyInput, now: Now) -> None:
        heard = self.state.heard
        if isinstance(incoming, LinkUp) and self.state.away and heard is not None and self.state.unheard_ns is not None:
            away_ns = between(heard, now)
            self.state = replace(self.state, unheard_ns=None if away_ns is None else self.state.unheard_ns + away_ns)
        super().take(incoming, now)

    def frames(self, found: Sequence[Frame[FromShoe] | Rejected]) -> None:
        for each in found:
            if isinstance(each, Rejected):
                self.state = replace(self.state, rejected=self.state.rejected + len(each.raw))
            super().frames((each,))

    def handle(self, frame: Frame[FromShoe]) -> None:
        match frame.message:
            case theirs.AngelEyeAcknowledge() | theirs.Refuse() if self.noisy and self.state.asked is None:
                # One byte in 128 of random noise is an ACK or a NAK with a code.
                self.reject(frame.raw, frame.offset, frame.at, Reason.JUNK, "an answer without an order, in noise")
            case theirs.AngelEyeAcknowledge():
                self.answer(frame.at, accepted=True, detail="")
            case theirs.Refuse(code=code):
                # The journals of earlier versions hold only the code's name if another host sent the order.
                detail = code.value if self.state.asked is None else REFUSED[code]
                self.answer(frame.at, accepted=False, detail=detail, form=theirs.form_of(frame.raw).value)
            case theirs.Reply(text=text):
                form = theirs.form_of(frame.raw).value
                self.saw(Replied(at=frame.at, frame=Evidence(frame.raw.hex(" "), frame.offset, "", form), text=text))
            case report:
                self.report(frame, report)

    # --- reports

    def report(self, frame: Frame[FromShoe], message: AngelEyeReport) -> None:
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
        last = AcceptedReport(frame.raw, message.sequence, frame.at)
        self.state = replace(self.state, last=last, away=False, unheard_ns=0, rejected=0)
        self.saw(observation(message, frame.at, evidence))

    def continuity(
        self, at: Now, evidence: Evidence, last: AcceptedReport, repeat: Repeat, message: AngelEyeReport
    ) -> None:
        """Compare the sequence number with the expected one and observe what may have been missed."""
        expected = FOLLOWING.get(last.sequence)
        due = evidence.sequence == expected
        starts = isinstance(message, theirs.StartOfCommunication)  # the shoe restarted and may count from 1 again
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
        """Whether the unheard time is too short for nine reports, a full cycle of the numbers."""
        unheard_ns = self.state.unheard_ns
        return (
            unheard_ns is not None and unheard_ns + self.state.rejected * self.session.byte_ns < self.session.cycle_ns
        )


def as_theirs(order: DeviceOrder) -> theirs.AngelEyeOrder:
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


def observation(message: AngelEyeReport, at: Now, evidence: Evidence) -> AnyObservation:  # noqa: C901 -- one line a report
    match message:
        case theirs.CardInGame(target=target, index=index, card=card):
            place = PLACES.get(target, Place.UNKNOWN)
            position = 0 if place is Place.UNKNOWN else index  # the index of an unknown target has no meaning
            return replace(card_seen(at, evidence, place, position, card), unknown=unnamed(target))
        case theirs.CardOutside(situation=situation, card=card):
            place = PLACES.get(situation, Place.UNKNOWN)
            return replace(card_seen(at, evidence, place, 0, card), unknown=unnamed(situation))
        case theirs.OverdrawCard(target=target, index=index, card=card):
            slot = f"{PLACES[target].value} {index}" if target in PLACES else ""
            seen = card_seen(at, evidence, Place.OVERDRAW, index, card)
            return replace(seen, unknown=unnamed(target), target=slot)
        case theirs.AngelEyeResult(outcome=outcome, player_pair=player, banker_pair=banker):
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
        case theirs.AngelEyePresetChanged(address=address, value=value):
            return PresetChanged(at=at, frame=evidence, address=address, value=value)
        case theirs.StartOfCommunication():
            return CommunicationStarted(at=at, frame=evidence)
        case theirs.StandBy():
            return StoodBy(at=at, frame=evidence)
        case theirs.AngelEyeCutCard():
            return CutCardSeen(at=at, frame=evidence)
        case _:
            assert_never(message)


def card_seen(at: Now, evidence: Evidence, place: Place, position: int, code: theirs.CardCode) -> CardSeen:
    if isinstance(code, theirs.AngelEyeFace):
        return CardSeen(at=at, frame=evidence, place=place, position=position, card=CARDS[code])
    return CardSeen(at=at, frame=evidence, place=place, position=position, card=None, code=f"{code.code:02x}")


def unnamed(value: TheirPlace) -> str:
    """Describe a target or situation that the protocol page does not name; empty for the others."""
    match value:
        case theirs.UnknownTarget(code=code):
            return f"target {code}"
        case theirs.UnknownSituation(code=code):
            return f"situation {code}"
        case _:
            return ""


def fault_name(code: int) -> str:
    return FAULTS[code].value if code in FAULTS else "unnamed"
