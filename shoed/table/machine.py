"""The table: observations in, events out.

Theory of operation: `fold` takes what a Step observed and moves the round by `state.MOVES`.
The cards and the Table of Play alone say what is due, what a hand is worth and who won; what
the device says of hand, position and result is only compared. A card that is not the one due
is set aside and suspends the round. It is never put where it might belong.
"""

from collections.abc import Sequence
from typing import Final, assert_never

import msgspec
from msgspec.structs import replace

from shoed import events
from shoed.cards import Card
from shoed.events import Event, EventData, Hand, Points, Result, Seen, Slot
from shoed.now import Now, rfc3339
from shoed.observations import (
    AnyObservation,
    CardSeen,
    CommunicationStarted,
    CopyHeard,
    CutCardSeen,
    FaultCleared,
    FaultRaised,
    FrameRejected,
    HeardAgain,
    LinkClosed,
    LinkOpened,
    LockChanged,
    OrderAnswered,
    Outcome,
    Pair,
    Place,
    PresetChanged,
    Reported,
    ResultSeen,
    Resumed,
    SequenceClashed,
    SequenceJumped,
    StoodBy,
    WentQuiet,
)
from shoed.rules import drawing
from shoed.rules.book import RuleBook
from shoed.rules.drawing import Hands
from shoed.rules.load import book
from shoed.table.state import MOVES, Answer, Completed, Device, Fault, Link, Move, Phase, Rejections, Round, TableState

REJECTIONS_COUNTED_NS: Final = 10_000_000_000  # contract: the first at once, then counted per 10 s

HANDS: Final = {Place.PLAYER: Pair.PLAYER, Place.BANKER: Pair.BANKER}


class TableSettings(msgspec.Struct, frozen=True):
    game: str
    port: str


def fold(
    settings: TableSettings, state: TableState, observations: Sequence[AnyObservation], now: Now, row: int
) -> tuple[TableState, tuple[Event, ...]]:
    """One Step of a table; `row` is where the journal will keep what was observed."""
    table = Table(settings, state, row)
    table.tell_rejections(now)
    for seen in observations:
        table.observe(seen)
    return table.state, tuple(table.events)


def wake_at(state: TableState) -> int | None:
    return None if state.rejections is None else state.rejections.until


class Table:
    """A fold in progress: the state so far, and the events that it gave."""

    def __init__(self, settings: TableSettings, state: TableState, row: int) -> None:
        self.settings = settings
        self.book: Final = book(settings.game)
        self.state = state
        self.row = row
        self.events: list[Event] = []

    def emit(self, at: Now, data: EventData) -> None:
        self.state = replace(self.state, sequence=self.state.sequence + 1)
        self.events.append(Event(self.state.sequence, at.utc_us, data))

    def move(self, move: Move) -> None:
        self.state = replace(self.state, phase=MOVES[self.state.phase, move])

    def set_device(self, device: Device) -> None:
        self.state = replace(self.state, device=device)

    def set_round(self, current: Round) -> None:
        self.state = replace(self.state, round=current)

    def observe(self, seen: AnyObservation) -> None:  # noqa: C901 -- one line an observation
        if isinstance(seen, Reported | FrameRejected):
            self.set_device(replace(self.state.device, heard_utc_us=seen.at.utc_us))
        match seen:
            case CardSeen():
                self.card(seen)
            case ResultSeen():
                self.result(seen)
            case CutCardSeen():
                self.cut(seen.at)
            case CommunicationStarted():
                self.communication_started(seen)
            case Resumed() | SequenceJumped() | SequenceClashed():
                self.continuity(seen)
            case LinkOpened() | LinkClosed() | WentQuiet() | HeardAgain():
                self.link(seen)
            case FaultRaised() | FaultCleared() | LockChanged() | PresetChanged():
                self.device(seen)
            case FrameRejected():
                self.rejected(seen)
            case CopyHeard() | StoodBy() | OrderAnswered():
                pass  # on record, and nothing changes for anybody
            case _:
                assert_never(seen)

    # --- cards and rounds

    def card(self, seen: CardSeen) -> None:
        if not self.state.shoe:  # joined midway: numbered at its first card, and partial
            self.state = replace(self.state, shoe=1, round=Round(1))
        hand = HANDS.get(seen.place)
        if hand is None:
            self.set_aside(seen, seen.place.value)
            return
        if hand is Pair.PLAYER and seen.position == 1:
            self.open_round(seen.at)
        due = self.due
        if due is not None and seen.card is not None and (due.hand, due.position) == (hand, seen.position):
            self.draw(seen, due, seen.card)
        elif self.state.phase is Phase.IDLE:
            self.set_aside(seen, "no-round")
            self.move(Move.UNDUE_CARD)
        else:
            self.set_aside(seen, "not-due")
            self.suspend(Move.UNDUE_CARD, seen.at, due, reported(seen))

    @property
    def due(self) -> Slot | None:
        """The slot of the next card; a suspended round is due nothing until a person decides."""
        hands = self.state.round.hands
        hand = drawing.due(self.book, hands) if self.state.phase is Phase.DEALING else None
        return None if hand is None else Slot(hand, len(hands.of(hand)) + 1, len(hands) + 1)

    def open_round(self, at: Now) -> None:
        before, last = self.state.round, self.state.last
        if last is not None and last.answer is Answer.AWAITED:
            self.emit(at, events.RoundUnconfirmed(shoe=last.told.shoe, round=last.told.round))
            self.state = replace(self.state, last=replace(last, answer=Answer.UNCONFIRMED))
        if self.state.phase is not Phase.IDLE and not before.complete:
            player, banker = both(self.book, before.hands)
            self.emit(at, events.RoundAbandoned(shoe=before.shoe, round=before.number, player=player, banker=banker))
        self.move(Move.OPENING_CARD)
        if self.state.cut and self.state.missed is not None:  # this may be another shoe already
            self.state = replace(self.state, shoe_whole=False)
        self.state = replace(self.state, round=Round(self.state.shoe, before.number + 1), suspended=None)
        self.emit(
            at,
            events.RoundStarted(
                shoe=self.state.shoe,
                round=self.state.round.number,
                game=self.settings.game,
                opened_by="card",
                shoe_integrity=self.state.shoe_integrity,
            ),
        )

    def draw(self, seen: CardSeen, due: Slot, card: Card) -> None:
        hands = self.state.round.hands.with_card(due.hand, card)
        self.set_round(replace(self.state.round, hands=hands))
        self.emit(
            seen.at,
            events.CardDrawn(
                shoe=self.state.shoe,
                round=self.state.round.number,
                index=due.index,
                hand=due.hand,
                card=card,
                points=Points(drawing.points(self.book, hands.player), drawing.points(self.book, hands.banker)),
                provenance=self.row,
            ),
        )
        if drawing.due(self.book, hands) is None:
            self.complete(seen.at, hands)
        else:
            self.move(Move.DUE_CARD)

    def complete(self, at: Now, hands: Hands) -> None:
        player, banker = both(self.book, hands)
        completed = events.RoundCompleted(
            shoe=self.state.shoe,
            round=self.state.round.number,
            game=self.settings.game,
            player=player,
            banker=banker,
            outcome=Outcome(drawing.winner(self.book, hands).value),
            pairs=drawing.pairs(hands),
            integrity="partial" if self.state.round.partial else "complete",
        )
        self.emit(at, completed)
        self.move(Move.LAST_CARD)
        self.state = replace(self.state, round=replace(self.state.round, complete=True), last=Completed(completed))

    def set_aside(self, seen: CardSeen, reason: str) -> None:
        self.emit(
            seen.at,
            events.CardSetAside(
                shoe=self.state.shoe,
                round=self.state.round.number or None,
                card=seen.card,
                reason=reason,
                reported=reported(seen),
                provenance=self.row,
            ),
        )

    def suspend(self, move: Move, at: Now, due: Slot | None, seen: Seen) -> None:
        """Once per round: what else comes while it waits is set aside, and adds nothing to the question."""
        suspended = self.state.phase is Phase.SUSPENDED
        self.move(move)
        if not suspended:
            current = self.state.round
            told = events.RoundSuspended(shoe=current.shoe, round=current.number, due=due, seen=seen, gap=current.away)
            self.state = replace(self.state, suspended=told)
            self.emit(at, told)

    def result(self, seen: ResultSeen) -> None:
        theirs, last = Result(seen.outcome, seen.pairs), self.state.last
        if self.state.phase is Phase.DEALING:  # before the last card due
            self.suspend(Move.RESULT, seen.at, self.due, Seen(result=theirs))
            return
        self.move(Move.RESULT)
        if last is None or not self.awaits(last):
            return
        answer = Answer.CONFIRMED if theirs == last.ours else Answer.DISPUTED
        if theirs != last.theirs:
            event = events.RoundConfirmed if answer is Answer.CONFIRMED else events.RoundDisputed
            self.emit(seen.at, event(shoe=last.told.shoe, round=last.told.round, ours=last.ours, theirs=theirs))
            self.state = replace(self.state, last=replace(last, answer=answer, theirs=theirs))

    def awaits(self, last: Completed) -> bool:
        """Whether a result is that of the last completed round; after undue cards or a new shoe only the first is."""
        first = last.answer is Answer.AWAITED and (self.state.round.complete or self.state.phase is Phase.IDLE)
        return (first or self.state.phase is Phase.COMPLETE) and not self.state.round.unsure

    # --- the shoe, its line and its device

    def cut(self, at: Now) -> None:
        self.state = replace(self.state, cut=True, missed=None)
        self.emit(at, events.ShoeCut(shoe=self.state.shoe or None, round=self.state.round.number or None))

    def communication_started(self, seen: CommunicationStarted) -> None:
        """After a cutting card and with no round open, a new shoe; else a reconnection."""
        current = self.state.round
        if not self.state.cut:
            return
        if self.state.phase is not Phase.IDLE and not current.complete:
            if self.state.phase is Phase.SUSPENDED:  # it may have begun all the same, and nobody can tell
                self.state = replace(self.state, missed=self.state.missed or seen.frame)
            return
        self.move(Move.NEW_SHOE)
        shoe = self.state.shoe + 1
        # Reports missed since the cut may have been this shoe's first; a jump to its own start is none.
        whole = self.state.missed in (None, seen.frame)
        opened = Round(shoe, unsure=current.unsure)
        self.state = replace(self.state, shoe=shoe, shoe_whole=whole, cut=False, round=opened, suspended=None)
        self.emit(seen.at, events.ShoeStarted(shoe=shoe, shoe_integrity=self.state.shoe_integrity))

    def continuity(self, seen: Resumed | SequenceJumped | SequenceClashed) -> None:
        match seen:
            case Resumed():
                pass  # that the line was away has been told
            case SequenceJumped():
                self.emit(seen.at, events.LineMissed(expected=seen.expected, seen=seen.frame.sequence))
            case SequenceClashed():
                self.emit(
                    seen.at,
                    events.LineClashed(sequence=seen.frame.sequence, bytes=seen.frame.raw, previous=seen.previous),
                )
            case _:
                assert_never(seen)
        unproven = isinstance(seen, SequenceJumped) or (isinstance(seen, Resumed) and not seen.proven)
        if unproven:
            current = self.state.round
            dealing = self.state.phase is Phase.DEALING
            self.set_round(replace(current, partial=True) if dealing else replace(current, unsure=True))
            self.state = replace(self.state, missed=self.state.missed or seen.frame)

    def link(self, seen: LinkOpened | LinkClosed | WentQuiet | HeardAgain) -> None:
        device, port = self.state.device, self.settings.port
        match seen:
            case LinkOpened() | HeardAgain():
                if isinstance(seen, LinkOpened) and self.state.rejections is not None:
                    # What was counted on the line before; after another boot its window would be of no clock.
                    self.tell_rejections(Now(seen.at.utc_us, self.state.rejections.until))
                    self.state = replace(self.state, rejections=None)
                self.set_device(replace(device, link=Link.ONLINE, reason=""))
                self.emit(seen.at, events.DeviceOnline(port=port))
            case WentQuiet():
                self.set_device(replace(device, link=Link.QUIET))
                self.emit(seen.at, events.DeviceQuiet(port=port, since=rfc3339(seen.since.utc_us)))
            case LinkClosed():
                if self.state.phase is not Phase.IDLE:
                    self.set_round(replace(self.state.round, away=True))
                if (device.link, device.reason) != (Link.OFFLINE, seen.reason):
                    self.set_device(replace(device, link=Link.OFFLINE, reason=seen.reason))
                    self.emit(seen.at, events.DeviceOffline(port=port, reason=seen.reason))
            case _:
                assert_never(seen)

    def device(self, seen: FaultRaised | FaultCleared | LockChanged | PresetChanged) -> None:
        device = self.state.device
        match seen:
            case FaultRaised(code=code, name=name, blocking=blocking):
                self.set_device(replace(device, fault=Fault(code, name, blocking)))
                self.emit(seen.at, events.DeviceFault(code=code, name=name, blocking=blocking))
            case FaultCleared(code=code, name=name):
                self.set_device(replace(device, fault=None))
                self.emit(seen.at, events.DeviceCleared(code=code, name=name))
            case LockChanged(locked=locked):
                self.set_device(replace(device, locked=locked))
                self.emit(seen.at, events.DeviceLocked() if locked else events.DeviceUnlocked())
            case PresetChanged(address=address, value=value):
                self.emit(seen.at, events.DeviceChanged(address=address, value=value))
            case _:
                assert_never(seen)

    # --- rejected frames: the first at once, then counted

    def rejected(self, seen: FrameRejected) -> None:
        counting = self.state.rejections
        told = events.LineRejected(bytes=seen.raw, offset=seen.offset, reason=seen.reason, detail=seen.detail, count=1)
        if counting is None:
            self.emit(seen.at, told)
            counting = Rejections(seen.at.mono_ns + REJECTIONS_COUNTED_NS)
        else:
            told = replace(told, count=1 if counting.counted is None else counting.counted.count + 1)
            counting = replace(counting, counted=told)
        self.state = replace(self.state, rejections=counting)

    def tell_rejections(self, now: Now) -> None:
        counting = self.state.rejections
        if counting is None or now.mono_ns < counting.until:
            return
        if counting.counted is None:
            self.state = replace(self.state, rejections=None)
            return
        self.emit(now, counting.counted)
        self.state = replace(self.state, rejections=Rejections(now.mono_ns + REJECTIONS_COUNTED_NS))


def reported(seen: CardSeen) -> Seen:
    if seen.place in HANDS:
        return Seen(card=seen.card, hand=seen.place.value, position=seen.position)
    return Seen(card=seen.card)


def both(by: RuleBook, hands: Hands) -> tuple[Hand, Hand]:
    return (
        Hand(hands.player, drawing.points(by, hands.player)),
        Hand(hands.banker, drawing.points(by, hands.banker)),
    )
