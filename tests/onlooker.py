"""A test player for one table: it compares the published state with the published events and the reported cards.

The listener computes the table from its events. The ledger knows the source of every card.
"""

import random
from collections import Counter
from collections.abc import Iterable
from typing import Final

import msgspec
from msgspec.structs import replace

from shoed.engine import ENGINE
from shoed.model import events
from shoed.model.cards import Card
from shoed.model.commands import Author, CorrectCard, Decide
from shoed.model.events import Event
from shoed.model.moments import rfc3339
from shoed.model.observations import CardSeen, Device, FrameRejected, Reported
from shoed.model.step import Commanded, Configured
from shoed.table import PublicQuestion, TableState, public_question
from shoed.table.assess import house_of, judge
from shoed.table.phase import DRAWN, OPEN, Phase
from shoed.table.record import MOST_WAITING, Where
from tests.listener import Listener, state_without_rules
from tests.observed import TableRun
from tests.trouble import AnswerStep, DeviceStep, PersonStep, Played, Restarted, deciding

MOST_ANSWERS: Final = 400  # of a round: at most sixteen cards wait, and each may cause questions


class Ledger:
    """The cards of the present round by their source. Only these cards may be published."""

    def __init__(self) -> None:
        self.cards: Counter[Card] = Counter()  # known faces: from the device, from people, or left over
        self.sequences: set[int] = set()  # of all events that published a card
        self.left_over: tuple[Card, ...] = ()
        self.kept: tuple[Card, ...] = ()  # reported after the round
        self.unheard: Counter[Card] = Counter()  # of a round that began with them

    def hear(self, event: Event) -> None:
        match event.data:
            case events.RoundStarted():
                self.cards = Counter((*self.left_over, *self.kept)) + self.unheard
                self.unheard = Counter()
            case events.ShoeStarted():
                self.cards, self.left_over = Counter(), ()
            case events.CardDrawn(card=card, set_aside=aside, source=source):
                self.cards[card] += aside is None and source == "device"  # otherwise it was published before
                self.sequences.add(event.sequence)
            case events.CardSetAside(card=card):
                self.cards += Counter([card] if card else [])
                self.sequences.add(event.sequence)
            case events.RoundSettled(carried=carried):
                self.left_over = carried
            case events.QuestionAnswered(choice=("next-round" | "new-shoe" | "reconnection",)):
                self.unheard = self.cards
            case events.QuestionAnswered(carried=carried):
                self.cards += Counter(carried)
                self.kept += carried
            case _:
                pass

    def obey(self, command: object) -> None:
        match command:
            case CorrectCard(card=card):
                self.cards[card] += 1
            case Decide(choice=str(choice)) if choice in set(map(str, Card)):
                self.cards[Card.parse(choice)] += 1
            case _:
                pass

    def check(self, state: TableState) -> None:
        record = state.record
        self.kept = tuple([each.face for each in record.left_over if each.face is not None])
        there = record.at(Where.PLACED, Where.WAITING, Where.DEFERRED)
        kept = [each.sequence for each in there if each.sequence]
        assert len(kept) == len(set(kept)), "one card is in two places"
        assert set(kept) <= self.sequences, "a card without a source"
        assert max(len(record.waiting), len(record.at(Where.DEFERRED))) <= MOST_WAITING


class Onlooker:
    """Plays the inputs at one table, and compares the published state with the events."""

    def __init__(self, game: str) -> None:
        self.table = TableRun(game)
        self.listener, self.ledger = Listener(game), Ledger()
        self.heard_at: dict[Device, str] = {}

    def play(self, played: Iterable[Played]) -> None:
        for each in played:
            match each:
                case DeviceStep():
                    self.hear(each)
                case PersonStep():
                    self.say(each)
                case AnswerStep():
                    if (asked := self.asked) is not None:
                        self.say(deciding(asked, each.pick, each.bettor))
                case Restarted(game=game, insurance=insurance):
                    self.table.settings = replace(self.table.settings, game=game, insurance=insurance)
                    self.listener.game = game
                    self.check(self.table.step(incoming=Configured("{}", ENGINE, "1")))

    @property
    def asked(self) -> PublicQuestion | None:
        settings = self.table.settings
        return public_question(settings.game, self.table.state, insurance=settings.insurance, custom=settings.custom)

    def hear(self, heard: DeviceStep) -> None:
        published = self.table.step(*heard.seen, found=heard.found, after_s=heard.after_s)
        cards = [each for each in heard.seen if isinstance(each, CardSeen)]
        reported = [each.card for each in cards if each.device is Device.SHOE]
        drawn = [each.data for each in published if isinstance(each.data, events.CardDrawn | events.CardSetAside)]
        drawn = [each for each in drawn if isinstance(each, events.CardSetAside) or self.is_new(each)]
        assert [each.card for each in drawn] == reported
        assert all(each.provenance == self.table.row for each in drawn)
        for each in heard.seen:
            if isinstance(each, Reported | FrameRejected):
                self.heard_at[each.device] = rfc3339(self.table.now.utc_us)
        self.check(published)

    def is_new(self, drawn: events.CardDrawn) -> bool:
        """Whether the shoe reports the card now: it was not set aside before, and no person named it."""
        return drawn.set_aside is None and drawn.source == "device"

    def say(self, step: PersonStep) -> bool:
        before = self.table.state
        published = self.table.step(incoming=Commanded(step.command, Author("ann", step.role), "7f3a"), after_s=0)
        accepted = self.table.answers[-1].accepted
        if accepted:
            self.ledger.obey(step.command)
        else:
            assert (published, self.table.state) == ((), before)
            assert self.table.answers[-1].detail
        self.check(published)
        return accepted

    def check(self, published: Iterable[Event]) -> None:
        for event in published:
            self.listener.hear(event.data)
            self.ledger.hear(event)
        table, state = self.table, self.table.state
        assert state_without_rules(table.shown) == self.listener.drawn(
            len(table.events), self.heard_at.get(Device.SHOE), self.heard_at.get(Device.SHUFFLER)
        )
        hands = (*table.shown.hands.player.cards, *table.shown.hands.banker.cards)
        assert Counter(hands) <= self.ledger.cards, "a card without a source, or in two places"
        self.ledger.check(state)
        assert msgspec.json.decode(msgspec.json.encode(state), type=TableState) == state
        self.check_question()

    def check_question(self) -> None:
        state = self.table.state
        settings = self.table.settings
        found = judge(house_of(settings.game, state.record, insurance=settings.insurance), state.record)
        assert (state.phase is Phase.SUSPENDED) == (found.held and state.phase in (*OPEN, *DRAWN))
        assert (self.asked is not None) or not found.held
        if state.phase in (*OPEN, *DRAWN) and not found.held:
            lying = (*found.course.hands.player, *found.course.hands.banker, *found.course.carried)
            assert Counter(lying) == Counter(each.face for each in state.record.order), "a card was lost or added"

    def end(self, picks: random.Random) -> None:
        """Answer every question, until none is open."""
        for _ in range(MOST_ANSWERS):
            asked = self.asked
            if asked is None:
                return
            step = deciding(asked, picks.randrange(24))
            assert self.say(step), self.table.answers[-1].detail
        raise AssertionError("the questions do not end")
