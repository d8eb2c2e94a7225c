"""A Bee-Tek shoe, seen from the host.

Theory of operation: every line is taken as it comes. Lines are not numbered, so time alone tells a
card that the shoe tells again from a second card of the same face: the same line directly after the
first, sooner than anybody draws two cards, is a copy of it. What was missed while the link or the
daemon was away is never known. The shoe names no hand, and nothing is ever written to it.
"""

from collections.abc import Mapping, Sequence
from typing import Final, assert_never

import msgspec
from msgspec.structs import replace

from firmware_protocols import bee_tek as theirs
from firmware_protocols.bee_tek import BeeTekSettings, Report
from shoed import wire
from shoed.cards import Card, Rank, Suit
from shoed.now import Chunk, Now
from shoed.observations import (
    AnyObservation,
    CardSeen,
    CopyHeard,
    Evidence,
    FaultMeaning,
    FaultRaised,
    FrameRejected,
    HeardAgain,
    LinkClosed,
    LinkOpened,
    OrderAnswered,
    Place,
    Resumed,
    WentQuiet,
)
from shoed.session import Heard, SessionState
from shoed.step import AnyInput, Configured, LinkDown, LinkUp, Ordered, Received, Told, Woken
from shoed.wire import Frame, LineState, Rejected

SUITS: Final[Mapping[theirs.Suit, Suit]] = {
    theirs.Suit.SPADES: Suit.SPADES,
    theirs.Suit.HEARTS: Suit.HEARTS,
    theirs.Suit.DIAMONDS: Suit.DIAMONDS,
    theirs.Suit.CLUBS: Suit.CLUBS,
}
UNNUMBERED: Final = 0  # the code of a fault to which the shoe gives no number


class Taken(msgspec.Struct, frozen=True):
    """The last line that said something new."""

    raw: bytes
    at: Now
    copies: int = 1


class BeeTekState(SessionState, frozen=True):
    line: LineState | None = None  # None: the link is closed
    heard: Now | None = None  # the last bytes, or the opening of the link
    quiet: bool = False
    away: bool = False  # nothing was taken yet since link or daemon were away
    last: Taken | None = None


class BeeTekSession:
    state_type = BeeTekState

    def __init__(self, settings: BeeTekSettings, *, allow_orders: bool) -> None:  # noqa: ARG002 -- no order is known
        self.settings = settings
        self.reports = theirs.reports(settings)

    def begin(self) -> BeeTekState:
        return BeeTekState()

    def wake_at(self, state: BeeTekState) -> int | None:
        if state.line is None:
            return None
        moments = (wire.wake_at(self.reports, state.line), self.quiet_at(state))
        return min((moment for moment in moments if moment is not None), default=None)

    def quiet_at(self, state: BeeTekState) -> int | None:
        """When an open line that says nothing is called quiet; it is called so once."""
        if state.heard is None or state.quiet:
            return None
        return state.heard.mono_ns + self.settings.quiet_after_s * 1_000_000_000

    def step(self, state: BeeTekState, came: AnyInput, now: Now) -> tuple[BeeTekState, Heard]:
        hearing = Hearing(self, state)
        hearing.take(came, now)
        return hearing.state, Heard(tuple(hearing.observations))


class Hearing:
    """One step in progress: the state so far, and what was observed in it."""

    def __init__(self, session: BeeTekSession, state: BeeTekState) -> None:
        self.session = session
        self.state = state
        self.observations: list[AnyObservation] = []

    def saw(self, observation: AnyObservation) -> None:
        self.observations.append(observation)

    def take(self, came: AnyInput, now: Now) -> None:
        match came:
            case Configured():
                if self.state.line is not None:  # it never said that it stopped
                    self.close("the daemon was away", now)
            case LinkUp(port=port):
                self.state = replace(self.state, line=LineState(), heard=now, quiet=False)
                self.saw(LinkOpened(at=now, port=port))
            case LinkDown(reason=reason):
                self.close(reason, now)
            case Received(data=data):
                self.expire(now)
                self.receive(Chunk(data, now))
            case Woken():
                self.expire(now)
            case Ordered(order=order):
                text, refusal = f"{order.kind.value} {order.number}", "no order to a Bee-Tek shoe is known"
                self.saw(OrderAnswered(at=now, order=text, accepted=False, detail=refusal))
            case Told():
                pass  # the table's
            case _:
                assert_never(came)

    def close(self, reason: str, now: Now) -> None:
        if self.state.line is not None:
            _, rest = wire.end(self.session.reports, self.state.line, now)
            self.frames(rest)
        self.state = replace(self.state, line=None, quiet=False, away=True)
        self.saw(LinkClosed(at=now, reason=reason))

    def receive(self, chunk: Chunk) -> None:
        if self.state.line is None:
            return  # the end of a link that was given up
        if self.state.quiet:
            self.saw(HeardAgain(at=chunk.at))
        line, found = wire.receive(self.session.reports, self.state.line, chunk)
        self.state = replace(self.state, line=line, heard=chunk.at, quiet=False)
        self.frames(found)

    def expire(self, now: Now) -> None:
        """All that is due by now: a torn line, a quiet one."""
        if self.state.line is None:
            return
        line, found = wire.expire(self.session.reports, self.state.line, now)
        self.state = replace(self.state, line=line)
        self.frames(found)
        heard, quiet_at = self.state.heard, self.session.quiet_at(self.state)
        if heard is not None and quiet_at is not None and now.mono_ns >= quiet_at:
            self.state = replace(self.state, quiet=True)
            self.saw(WentQuiet(at=now, since=heard))

    def frames(self, found: Sequence[Frame[Report] | Rejected]) -> None:
        for each in found:
            match each:
                case Rejected(raw=raw, offset=offset, at=at, reason=reason, detail=detail):
                    raw_hex = raw.hex(" ")
                    self.saw(FrameRejected(at=at, raw=raw_hex, offset=offset, reason=reason.value, detail=detail))
                case Frame(message=message):
                    self.report(each, message)
                case _:
                    assert_never(each)

    def report(self, frame: Frame[Report], message: Report) -> None:
        last, evidence = self.state.last, Evidence(frame.raw.hex(" "), frame.offset, "")
        in_game = isinstance(message, theirs.GameCard)
        if in_game and last is not None and is_copy(self.session.settings, last, frame):
            self.state = replace(self.state, last=replace(last, copies=last.copies + 1))
            self.saw(CopyHeard(at=frame.at, frame=evidence))
            return
        if self.state.away and last is not None:
            self.saw(Resumed(at=frame.at, frame=evidence, proven=False))
        self.state = replace(self.state, last=Taken(frame.raw, frame.at), away=False)
        self.saw(observation(message, frame.at, evidence))


def is_copy(settings: BeeTekSettings, last: Taken, frame: Frame[Report]) -> bool:
    """Whether a card in the game is the last one told again.

    While we were away the shoe may have dealt, so only the clock is asked: what a line held back is a new card.
    """
    elapsed_ms = (frame.at.mono_ns - last.at.mono_ns) / 1e6
    soon = 0 <= elapsed_ms <= settings.repeat_window_ms  # less than 0: the clock of another boot
    return soon and frame.raw == last.raw and last.copies < settings.copies


def observation(message: Report, at: Now, evidence: Evidence) -> AnyObservation:
    match message:
        case theirs.GameCard(card=card):
            return card_seen(at, evidence, Place.DEALT, card)
        case theirs.BurnCard(card=card):
            return card_seen(at, evidence, Place.BURN, card)
        case theirs.FailedRead():
            return fault(at, evidence, UNNUMBERED, "failed read", FaultMeaning.UNREAD)
        case theirs.Alarm(text=text, number=number):
            meaning = FaultMeaning.UNREAD if number == theirs.NOT_READ else None
            return fault(at, evidence, UNNUMBERED if number is None else number, text, meaning)
        case theirs.Caution(number=number):
            return fault(at, evidence, number, f"W0x{number:02X}", None)
        case _:
            assert_never(message)


def card_seen(at: Now, evidence: Evidence, place: Place, told: theirs.CardText) -> CardSeen:
    if isinstance(told, theirs.NoFace):
        return CardSeen(at=at, frame=evidence, place=place, position=0, card=None, code=told.text)
    card = Card.of(Rank(told.rank), SUITS[told.suit])
    return CardSeen(at=at, frame=evidence, place=place, position=0, card=card)


def fault(at: Now, evidence: Evidence, code: int, name: str, meaning: FaultMeaning | None) -> FaultRaised:
    return FaultRaised(at=at, frame=evidence, code=code, name=name, blocking=False, meaning=meaning)
