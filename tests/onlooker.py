"""Somebody who plays anything at one table, and holds what it shows against what it told and what came.

The listener draws the table from its events; the ledger knows whose word every card is.
"""

import random
from collections import Counter
from collections.abc import Iterable
from typing import Final

import msgspec
from msgspec.structs import replace

from shoed import events
from shoed.cards import Card
from shoed.commands import Author, CorrectCard, Decide
from shoed.engine import ENGINE
from shoed.events import Event
from shoed.now import rfc3339
from shoed.observations import CardSeen, Device, FrameRejected, Reported
from shoed.step import Configured, Told
from shoed.table import PublicQuestion, TableState, public_question
from shoed.table.assess import house_of, judge
from shoed.table.phase import DRAWN, OPEN, Phase
from shoed.table.record import MOST_WAITING, Where
from tests.listener import Listener, shown_to_all
from tests.observed import Sitting
from tests.trouble import Answered, Heard, Played, Restarted, Said, deciding

MOST_ANSWERS: Final = 400  # that a round takes, whatever came: sixteen cards wait at most, and each is asked of


class Ledger:
    """The cards of the present round, by who told them: nobody else may show one."""

    def __init__(self) -> None:
        self.told: Counter[Card] = Counter()  # faces that are known, from the device, from people, or left over
        self.sequences: set[int] = set()  # of all events that told a card
        self.left_over: tuple[Card, ...] = ()
        self.kept: tuple[Card, ...] = ()  # that came after the round
        self.unheard: Counter[Card] = Counter()  # of a round that began so: it has these

    def hear(self, event: Event) -> None:
        match event.data:
            case events.RoundStarted():
                self.told = Counter((*self.left_over, *self.kept)) + self.unheard
                self.unheard = Counter()
            case events.ShoeStarted():
                self.told, self.left_over = Counter(), ()
            case events.CardDrawn(card=card, set_aside=aside, source=source):
                self.told[card] += aside is None and source == "device"  # else it was told before
                self.sequences.add(event.sequence)
            case events.CardSetAside(card=card):
                self.told += Counter([card] if card else [])
                self.sequences.add(event.sequence)
            case events.RoundSettled(carried=carried):
                self.left_over = carried
            case events.QuestionAnswered(choice=("next-round" | "new-shoe" | "reconnection",)):
                self.unheard = self.told
            case events.QuestionAnswered(carried=carried):
                self.told += Counter(carried)
                self.kept += carried
            case _:
                pass

    def obey(self, command: object) -> None:
        match command:
            case CorrectCard(card=card):
                self.told[card] += 1
            case Decide(choice=str(choice)) if choice in set(map(str, Card)):
                self.told[Card.parse(choice)] += 1
            case _:
                pass

    def check(self, state: TableState) -> None:
        record = state.record
        self.kept = tuple([each.face for each in record.lying if each.face is not None])
        there = record.at(Where.PLACED, Where.WAITING, Where.PUT_BY)
        kept = [each.sequence for each in there if each.sequence]
        assert len(kept) == len(set(kept)), "a card in two places"
        assert set(kept) <= self.sequences, "a card that nobody told"
        assert max(len(record.waiting), len(record.at(Where.PUT_BY))) <= MOST_WAITING


class Onlooker:
    """Plays it all at one table, and holds what it shows against what it told."""

    def __init__(self, game: str) -> None:
        self.table = Sitting(game)
        self.listener, self.ledger = Listener(game), Ledger()
        self.heard_at: dict[Device, str] = {}

    def play(self, played: Iterable[Played]) -> None:
        for each in played:
            match each:
                case Heard():
                    self.hear(each)
                case Said():
                    self.say(each)
                case Answered():
                    if (asked := self.asked) is not None:
                        self.say(deciding(asked, each.pick, each.bettor))
                case Restarted(game=game, insurance=insurance):
                    self.table.settings = replace(self.table.settings, game=game, insurance=insurance)
                    self.listener.game = game
                    self.check(self.table.step(came=Configured("{}", ENGINE, "1")))

    @property
    def asked(self) -> PublicQuestion | None:
        settings = self.table.settings
        return public_question(settings.game, self.table.state, insurance=settings.insurance, custom=settings.custom)

    def hear(self, heard: Heard) -> None:
        told = self.table.step(*heard.seen, found=heard.found, after_s=heard.after_s)
        cards = [each for each in heard.seen if isinstance(each, CardSeen)]
        reported = [each.card for each in cards if each.device is Device.SHOE]
        told_of = [each.data for each in told if isinstance(each.data, events.CardDrawn | events.CardSetAside)]
        told_of = [each for each in told_of if isinstance(each, events.CardSetAside) or self.is_new(each)]
        assert [each.card for each in told_of] == reported
        assert all(each.provenance == self.table.row for each in told_of)
        for each in heard.seen:
            if isinstance(each, Reported | FrameRejected):
                self.heard_at[each.device] = rfc3339(self.table.now.utc_us)
        self.check(told)

    def is_new(self, drawn: events.CardDrawn) -> bool:
        """Whether the shoe reports the card now; it was not set aside before, and no person named it."""
        return drawn.set_aside is None and drawn.source == "device"

    def say(self, said: Said) -> bool:
        before = self.table.state
        told = self.table.step(came=Told(said.command, Author("ann", said.role), "7f3a"), after_s=0)
        accepted = self.table.answers[-1].accepted
        if accepted:
            self.ledger.obey(said.command)
        else:
            assert (told, self.table.state) == ((), before)
            assert self.table.answers[-1].detail
        self.check(told)
        return accepted

    def check(self, told: Iterable[Event]) -> None:
        for event in told:
            self.listener.hear(event.data)
            self.ledger.hear(event)
        table, state = self.table, self.table.state
        assert shown_to_all(table.shown) == self.listener.drawn(
            len(table.told), self.heard_at.get(Device.SHOE), self.heard_at.get(Device.SHUFFLER)
        )
        hands = (*table.shown.hands.player.cards, *table.shown.hands.banker.cards)
        assert Counter(hands) <= self.ledger.told, "a card that nobody told, or in two places"
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
            assert Counter(lying) == Counter(each.face for each in state.record.order), "lost or invented"

    def end(self, picks: random.Random) -> None:
        """Whatever is asked is answered, until nothing is asked."""
        for _ in range(MOST_ANSWERS):
            asked = self.asked
            if asked is None:
                return
            said = deciding(asked, picks.randrange(24))
            assert self.say(said), self.table.answers[-1].detail
        raise AssertionError("there is no end of questions")
