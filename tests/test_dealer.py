"""The dealer: complete shoes of legal rounds, and both sessions together over them."""

from collections import Counter
from collections.abc import Iterator
from itertools import islice, takewhile
from random import Random
from typing import Final, NamedTuple

import pytest

from firmware_protocols.angel_eye import (
    AngelEyeCutCard,
    AngelEyeReport,
    AngelEyeResult,
    AngelEyeSettings,
    CardInGame,
    StandBy,
    StartOfCommunication,
    Target,
)
from firmware_protocols.family import Line
from shoed.engine import Engine
from shoed.model import device_events, events
from shoed.model.cards import Card
from shoed.model.device_events import EventData
from shoed.model.moments import Now
from shoed.model.observations import Outcome, Pair, Side
from shoed.model.step import LinkUp, Received
from shoed.rig.dealer import CUT_FROM_END, PACE, Dealt, deal
from shoed.rules import drawing
from shoed.rules.drawing import Hands
from shoed.rules.load import book
from shoed.session.angel_eye import CARDS, AngelEyeSession
from shoed.session.angel_eye_shoe import AngelEyeShoe
from shoed.table import TableSettings
from shoed.watch import WatchSettings

DECKS: Final = 8
BOOK: Final = book("commission")
HANDS: Final = {Target.PLAYER: Side.PLAYER, Target.BANKER: Side.BANKER}
SETTINGS: Final = AngelEyeSettings()
BYTE_NS: Final = round(Line(4800).seconds_per_byte * 1e9)
SEEDS: Final = range(5)


def a_shoe(dealt: Iterator[Dealt]) -> list[AngelEyeReport]:
    """Return the reports from the start of communication to the stand-by at its end."""
    return [each.report for each in takewhile(lambda each: not isinstance(each.report, StandBy), dealt)]


def face(report: CardInGame) -> Card:
    return next(card for code, card in CARDS.items() if code == report.card)


class Round(NamedTuple):
    """Return the cards in the order of the deal."""

    hands: Hands
    outcome: Outcome
    pairs: tuple[Pair, ...]


def rounds(reports: list[AngelEyeReport]) -> list[Round]:
    found, hands = [], Hands()
    for report in reports:
        if isinstance(report, CardInGame) and report.target in HANDS:
            hands = hands.with_card(HANDS[report.target], face(report))
        elif isinstance(report, AngelEyeResult):
            pairs = ((Pair.PLAYER,) if report.player_pair else ()) + ((Pair.BANKER,) if report.banker_pair else ())
            found.append(Round(hands, Outcome[report.outcome.name], pairs))
            hands = Hands()
    return found


@pytest.mark.parametrize("seed", SEEDS)
def test_every_card_of_a_round_is_the_one_that_is_due(seed: int) -> None:
    """Hand and index follow the Table of Play; the result follows the last card, and is correct."""
    hands = Hands()
    for report in a_shoe(deal(Random(seed), DECKS)):
        if isinstance(report, CardInGame) and report.target in HANDS:
            hand = HANDS[report.target]
            assert drawing.due(BOOK, hands) is hand
            hands = hands.with_card(hand, face(report))
            assert report.index == len(hands.of(hand))
        elif isinstance(report, AngelEyeResult):
            assert drawing.due(BOOK, hands) is None
            assert rounds([report])[0][1:] == (Outcome(drawing.winner(BOOK, hands).value), drawing.pairs(hands))
            hands = Hands()
    assert hands == Hands()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("decks", [4, 8])
def test_a_shoe_consists_of_its_decks(seed: int, decks: int) -> None:
    """No card is more often in it than there are decks; about one deck, less at most two rounds, remains."""
    drawn = Counter(face(each) for each in a_shoe(deal(Random(seed), decks)) if isinstance(each, CardInGame))
    assert max(drawn.values()) <= decks
    assert CUT_FROM_END[0] - 12 <= 52 * decks - drawn.total() <= CUT_FROM_END[-1] - 5


@pytest.mark.parametrize("seed", SEEDS)
def test_a_shoe_begins_with_its_first_card_and_the_number_of_burn_cards_that_it_counts(seed: int) -> None:
    """A ten and a picture count ten; then the first round follows."""
    start, first, *others = a_shoe(deal(Random(seed), DECKS))
    assert isinstance(start, StartOfCommunication)
    assert isinstance(first, CardInGame)
    assert first.target is Target.FIRST_CARD
    burnt = list(takewhile(lambda each: isinstance(each, CardInGame) and each.target is Target.BURN, others))
    assert len(burnt) == min(face(first).rank, 10)
    after = others[len(burnt)]
    assert isinstance(after, CardInGame)
    assert after.target is Target.PLAYER


def test_one_more_round_follows_the_round_with_the_cut_card() -> None:
    """The cut card is drawn once, anywhere in a round; this round and one more are dealt, and the shoe stands by."""
    before = Counter[int]()
    for seed in range(40):
        reports = a_shoe(deal(Random(seed), DECKS))
        cuts = [number for number, each in enumerate(reports) if isinstance(each, AngelEyeCutCard)]
        assert len(cuts) == 1
        results = [number for number, each in enumerate(reports) if isinstance(each, AngelEyeResult)]
        assert sum(number > cuts[0] for number in results) == 2
        assert results[-1] == len(reports) - 1
        before[len(list(takewhile(lambda each: isinstance(each, CardInGame), reversed(reports[: cuts[0]]))))] += 1
    assert set(before) == {0, 1, 2, 3, 4, 5}  # the cards of its round before it


def test_another_shoe_follows() -> None:
    """The shoe stands by, starts communication again, and deals other cards."""
    dealt = deal(Random(1), DECKS)
    first, second = a_shoe(dealt), a_shoe(dealt)
    assert isinstance(second[0], StartOfCommunication)
    assert first != second


def test_the_same_seed_deals_the_same() -> None:
    """Cards and pauses are equal; a different seed deals different cards."""
    once, again, other = (list(islice(deal(Random(seed), DECKS), 1000)) for seed in (3, 3, 4))
    assert once == again
    assert once != other


@pytest.mark.parametrize("seed", SEEDS)
def test_the_pace_is_that_of_a_fast_dealer(seed: int) -> None:
    """No two cards are closer than a dealer draws them, and twenty rounds take about a minute."""
    elapsed_s, played = 0.0, 0
    for pause_s, report in deal(Random(seed), DECKS):
        elapsed_s += pause_s
        assert pause_s >= (PACE.card[0] if isinstance(report, CardInGame) else PACE.start[0])
        played += isinstance(report, AngelEyeResult)
        if played == 20:
            break
    assert 45 < elapsed_s < 70


# --- both sessions together: the dealer's shoe reports, a complete table observes


class Table:
    """The host's engine on the shoe's line; each byte has its time."""

    def __init__(self) -> None:
        session = AngelEyeSession(SETTINGS, allow_orders=False)
        self.engine = Engine(session, WatchSettings(250), TableSettings("commission", "the shoe"))
        self.state = self.engine.begin()
        self.clock_ns = 0
        self.events: list[EventData] = []
        self.findings = 0
        self.take(LinkUp("the shoe"))

    def take(self, incoming: LinkUp | Received) -> None:
        self.state, step = self.engine.step(self.state, incoming, Now(0, self.clock_ns))
        if step is None:  # part of a report
            return
        self.events += [event.data for event in step.events]
        self.findings += len(step.findings)

    def hear(self, data: bytes, pause_s: float) -> None:
        self.clock_ns += round(pause_s * 1e9)
        for number, byte in enumerate(data):
            self.take(Received(bytes((byte,))))
            self.clock_ns += BYTE_NS * (number < len(data) - 1)
        self.clock_ns -= BYTE_NS * max(0, len(data) - 1)  # a pause counts from the previous report


def played(table: Table, integrity: str) -> list[Round]:
    return [
        Round(Hands(each.player.cards, each.banker.cards), each.outcome, each.pairs)
        for each in table.events
        if isinstance(each, events.RoundCompleted) and each.integrity == integrity
    ]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_table_observes_every_card_and_result_of_two_complete_shoes(seed: int) -> None:
    """The observed cards and results are exactly those of the dealer."""
    dealt, role, table = deal(Random(seed), DECKS), AngelEyeShoe(SETTINGS), Table()
    state, reports = role.begin(), list[AngelEyeReport]()
    while sum(isinstance(each, StandBy) for each in reports) < 2:
        pause_s, report = next(dealt)
        reports.append(report)
        state, data = role.say(state, report)
        table.hear(data, pause_s)
    assert played(table, "complete") == rounds(reports)
    kinds = Counter(type(each) for each in table.events)
    assert kinds[events.RoundConfirmed] == kinds[events.RoundCompleted] == kinds[events.RoundStarted]
    assert (kinds[events.ShoeCut], kinds[events.ShoeStarted], table.findings) == (2, 1, 0)
    aside = [each.card for each in table.events if isinstance(each, events.CardSetAside)]
    assert aside == [face(each) for each in reports if isinstance(each, CardInGame) and each.target not in HANDS]
    assert set(kinds) == {
        *(device_events.DeviceOnline, events.ShoeCut, events.ShoeStarted, events.CardSetAside),
        *(events.RoundStarted, events.CardDrawn, events.RoundCompleted, events.RoundConfirmed),
    }


@pytest.mark.parametrize("seed", SEEDS)
def test_a_line_that_loses_reports_never_completes_a_round_with_wrong_cards(seed: int) -> None:
    """A complete round was dealt with exactly these cards; if reports are missing, the table knows it."""
    rng, role, table = Random(seed), AngelEyeShoe(SETTINGS), Table()
    state, reports = role.begin(), list[AngelEyeReport]()
    dealer = deal(Random(seed), DECKS)
    while sum(isinstance(each, AngelEyeResult) for each in reports) < 60:
        pause_s, report = next(dealer)
        reports.append(report)
        state, data = role.say(state, report)
        table.hear(data if rng.randrange(12) else b"", pause_s)
    dealt = iter(rounds(reports))
    whole = played(table, "complete")
    assert all(each in dealt for each in whole)  # in the order in which they were dealt
    assert 10 < len(whole) < 60
    kinds = Counter(type(each) for each in table.events)
    assert kinds[device_events.LineMissed]
    assert kinds[events.RoundSuspended]
    assert not kinds[events.RoundDisputed]  # no result counts for another round
