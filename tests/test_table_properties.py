"""The table under anything at all, in any order: what holds of its events, its questions and its cards."""

import random
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise, product
from typing import ClassVar, Final

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from shoed import events
from shoed.cards import Card
from shoed.commands import Author, CorrectCard, Decide
from shoed.events import Event
from shoed.now import rfc3339
from shoed.observations import CardSeen, FrameRejected, Reported
from shoed.rules.load import GAMES, book
from shoed.step import Told
from shoed.table import PublicQuestion, Table, TableState, public_question
from shoed.table.judging import MOST_WAITING, House, judge
from shoed.table.public import PublicHands
from shoed.table.question import Consequence
from shoed.table.state import DRAWN, MOVES, OPEN, Move, Phase
from tests.listener import Listener, shown_to_all
from tests.observed import Sitting, who_may
from tests.trouble import Answered, Heard, Played, Said, anything, deciding, honest_round, troubled_rounds

MOST_ANSWERS: Final = 400  # that a round takes, whatever came: sixteen cards wait at most, and each is asked of


class Ledger:
    """The cards of the present round, by who told them: nobody else may show one."""

    def __init__(self) -> None:
        self.told: Counter[Card] = Counter()  # faces that are known, from the device, from people, or left over
        self.sequences: set[int] = set()  # of the events that told a card
        self.left_over: tuple[Card, ...] = ()

    def hear(self, event: Event) -> None:
        match event.data:
            case events.RoundStarted():
                self.told, self.sequences = Counter(self.left_over), set()
            case events.ShoeStarted():
                self.told, self.sequences, self.left_over = Counter(), set(), ()
            case events.CardDrawn(card=card):
                self.told[card] += 1
                self.sequences.add(event.sequence)
            case events.CardSetAside(card=card):
                self.told += Counter([card] if card else [])
                self.sequences.add(event.sequence)
            case events.RoundSettled(carried=carried):
                self.left_over = carried
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
        current = state.round
        self.left_over = self.left_over if state.left_over else ()
        kept = [each.sequence for each in (*current.cards, *current.waiting, *current.over) if each.sequence]
        assert len(kept) == len(set(kept)), "a card in two places"
        assert set(kept) <= self.sequences, "a card that nobody told"
        assert max(len(current.waiting), len(current.over)) <= MOST_WAITING


class Tapped(Table):
    """A table that notes its moves."""

    made: ClassVar[set[tuple[Phase, Move]]] = set()

    def move(self, move: Move) -> None:
        self.made.add((self.state.phase, move))
        super().move(move)


class Witness:
    """Plays it all at one table, and holds what it shows against what it told."""

    def __init__(self, game: str) -> None:
        self.table = Sitting(game)
        self.house = House(book(game))
        self.listener, self.ledger = Listener(game), Ledger()
        self.heard_at: str | None = None

    def play(self, played: Iterable[Played]) -> None:
        for each in played:
            match each:
                case Heard():
                    self.hear(each)
                case Said():
                    self.say(each)
                case Answered():
                    asked = public_question(self.table.settings.game, self.table.state)
                    if asked is not None:
                        self.say(deciding(asked, each.pick, each.bettor))

    def hear(self, heard: Heard) -> None:
        told = self.table.step(*heard.seen, found=heard.found, after_s=heard.after_s)
        reported = [each.card for each in heard.seen if isinstance(each, CardSeen)]
        told_of = [each.data for each in told if isinstance(each.data, events.CardDrawn | events.CardSetAside)]
        assert [each.card for each in told_of] == reported
        assert all(each.provenance == self.table.row for each in told_of)
        if any(isinstance(each, Reported | FrameRejected) for each in heard.seen):
            self.heard_at = rfc3339(self.table.now.utc_us)
        self.check(told)

    def say(self, said: Said) -> bool:
        before = self.table.state
        told = self.table.step(told=Told(said.command, Author("ann", said.role), "7f3a"), after_s=0)
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
        assert shown_to_all(table.shown) == self.listener.drawn(len(table.told), self.heard_at)
        hands = (*table.shown.hands.player.cards, *table.shown.hands.banker.cards)
        assert Counter(hands) <= self.ledger.told, "a card that nobody told, or in two places"
        self.ledger.check(state)
        assert msgspec.json.decode(msgspec.json.encode(state), type=TableState) == state
        self.check_question()

    def check_question(self) -> None:
        state = self.table.state
        found = judge(self.house, state.round)
        assert (state.phase is Phase.SUSPENDED) == (found.held and state.phase in (*OPEN, *DRAWN))
        asked = public_question(self.table.settings.game, state)
        assert (asked is not None) or not found.held
        if state.phase in (*OPEN, *DRAWN) and not found.held:
            lying = (*found.course.hands.player, *found.course.hands.banker, *found.course.carried)
            assert Counter(lying) == Counter(each.card for each in state.round.cards), "lost or invented"

    def end(self, picks: random.Random) -> None:
        """Whatever is asked is answered, until nothing is asked."""
        for _ in range(MOST_ANSWERS):
            asked = public_question(self.table.settings.game, self.table.state)
            if asked is None:
                return
            said = deciding(asked, picks.randrange(24))
            assert self.say(said), self.table.answers[-1].detail
        raise AssertionError("there is no end of questions")


def check_order(told: list[Event]) -> None:
    """Sequence has no gap; neither time nor shoe nor round goes backwards."""
    assert [event.sequence for event in told] == list(range(1, len(told) + 1))
    assert all(before.utc_us <= after.utc_us for before, after in pairwise(told))
    places = [
        (event.data.shoe, event.data.round or 0)
        for event in told
        if isinstance(event.data, events.RoundStarted | events.CardDrawn | events.CardSetAside | events.RoundCompleted)
    ]
    assert places == sorted(places)
    opened = [(event.data.shoe, event.data.round) for event in told if isinstance(event.data, events.RoundStarted)]
    assert len(opened) == len(set(opened))


@settings(max_examples=600)
@given(st.sampled_from(GAMES), st.lists(anything, min_size=10, max_size=60), st.randoms(use_true_random=False))
def test_whatever_comes_events_state_and_cards_hold_together(
    game: str, played: list[Played], picks: random.Random
) -> None:
    """Nothing raises, each card gives one event, no card is lost or made, and all that is asked can be answered.

    Whoever hears the events alone draws the table that is shown, and finds every round ended when the next begins.
    """
    witness = Witness(game)
    witness.play(played)
    witness.end(picks)
    check_order(witness.table.told)


def test_rounds_with_troubles_hold_together_and_make_every_legal_move() -> None:
    """The same of shoes in which most is dealt as it should be, so that rounds complete and follow each other.

    MOVES is exactly what reports, findings and people can lead to: no row of it is dead, and none is missing.
    """
    Tapped.made.clear()
    for game, seed in product(GAMES, range(60)):
        witness = Witness(game)
        witness.table.kind = Tapped
        witness.play(troubled_rounds(seed))
        witness.end(random.Random(seed))
        check_order(witness.table.told)
    assert Tapped.made == set(MOVES)


class Curious(Witness):
    """Tries every consequence of every question on a table of its own, before it is answered."""

    def __init__(self, game: str) -> None:
        super().__init__(game)
        self.tried: set[str] = set()
        self.found: Counter[str] = Counter()

    def check_question(self) -> None:
        asked = public_question(self.table.settings.game, self.table.state)
        if asked is None or asked.id in self.tried:
            return
        self.tried.add(asked.id)
        for each in asked.consequences:
            self.found[asked.question] += 1
            self.try_one(asked, each)

    def try_one(self, asked: PublicQuestion, expected: Consequence) -> None:
        table = Sitting(self.table.settings.game)
        table.state, table.now = self.table.state, self.table.now
        choice = chosen(asked, expected)
        told = table.tell(Decide(question=asked.id, choice=choice), who_may(asked))
        voided = [each for each in told if isinstance(each, events.RoundVoided)]
        if self.table.state.phase is not Phase.VOIDED:
            assert [each.clause for each in voided] == ([] if expected.void is None else [expected.void or None])
        then = public_question(table.settings.game, table.state)
        assert expected.then_asks == (None if then is None or then.optional else then.question)
        if expected.void is None and then is None:
            assert table.shown.hands == PublicHands(expected.player, expected.banker)
            assert table.table_due == expected.due
        if expected.outcome is not None and then is None:
            last = table.shown.last_round
            assert last is not None
            assert (last.result.outcome, {bet: paid.pays for bet, paid in last.pays.items()}) == (
                expected.outcome,
                expected.pays,
            )


def chosen(asked: PublicQuestion, expected: Consequence) -> str | tuple[str, ...]:
    """An answer for which the consequence stands."""
    if asked.question == "card-order":
        return expected.choice
    (word,) = expected.choice
    return word.removeprefix("any ") + "S" if word.startswith("any ") else word


def test_what_a_question_says_of_an_answer_is_what_comes_of_it() -> None:
    """Each consequence of every question that is asked: the hands, what is due, void, result, pays and what is next."""
    asked: Counter[str] = Counter()
    for game, seed in product(GAMES, range(8)):
        curious = Curious(game)
        curious.play(troubled_rounds(1000 + seed))
        asked += curious.found
    assert set(asked) >= {"face", "reading", "confirm", "ruling", "option", "card-order", "reconstructable"}


def test_an_honest_shoe_is_confirmed_round_by_round() -> None:
    """Without troubles nothing is set aside, suspended, disputed or left open."""
    table, dice = Sitting(), random.Random(7)
    for _ in range(60):
        table.hear_each(honest_round(dice))
    told = [event.type for event in table.told]
    assert set(told) == {"round.started", "card.drawn", "round.completed", "round.confirmed"}
    assert told.count("round.started") == told.count("round.completed") == told.count("round.confirmed") == 60
