"""The table in a new incarnation of the journal: the event about it, the ids after it, and the numbers of shoes."""

import pytest
from msgspec.structs import replace

from shoed.engine import ENGINE
from shoed.model.cards import Card
from shoed.model.commands import CorrectCard, OpenBets
from shoed.model.events import CardSetAside, RoundAbandoned, RoundCorrected, RoundStarted, ShoeStarted
from shoed.model.incarnations import Because, Continued, JournalContinued, WordSince, with_present_ids, word_of
from shoed.model.moments import rfc3339
from shoed.model.step import Configured
from tests.observed import NATURAL, OPENED, TableRun, closed, dealt, kinds, rejected

FIRST = WordSince(0, "first")
WORDS = (FIRST, WordSince(9, "second"), WordSince(20, "third"))
LOST = Continued(2, "second", Because.TAIL_LOST, "the broker has 50", "first", kept=9, known=50)


def configured(*words: WordSince, continued: Continued | None = None, running: bool = False) -> Configured:
    return Configured("{}", ENGINE, "1", running=running, words=words, continued=continued)


def started(*words: WordSince) -> TableRun:
    table = TableRun()
    table.step(incoming=configured(*words))
    return table


@pytest.mark.parametrize(
    ("sequence", "word"), [(1, "first"), (9, "first"), (10, "second"), (20, "second"), (21, "third"), (0, "first")]
)
def test_an_id_has_the_word_of_its_sequence(sequence: int, word: str) -> None:
    """A word begins after a sequence number, and the later word counts."""
    assert word_of(WORDS, sequence) == word


def test_a_later_word_that_begins_earlier_replaces_a_word() -> None:
    """The last known loss counts."""
    assert word_of((FIRST, WordSince(9, "second"), WordSince(5, "third")), 7) == "third"


def test_the_first_event_of_an_incarnation_names_it() -> None:
    """It has the words, the reason and the bounds of the loss. A later start publishes nothing about it."""
    table = started(FIRST)
    table.hear(closed())
    (event,) = table.step(incoming=configured(FIRST, WordSince(1, "second"), continued=LOST))
    assert event.data == JournalContinued(
        incarnation="second",
        previous="first",
        reason=Because.TAIL_LOST,
        detail="the broker has 50",
        kept=9,
        known=50,
    )
    assert table.step(incoming=configured(FIRST, WordSince(1, "second"))) == ()


def test_it_is_published_before_all_other_events_of_its_step() -> None:
    """The events that waited in the table have the new word, too."""
    table = TableRun()
    table.hear_each([rejected(), rejected()])  # the second one is counted for 10 s
    table.pass_time(10)
    published = table.step(incoming=configured(*WORDS, continued=LOST))
    assert [each.type for each in published] == ["journal.continued", "line.rejected"]


def test_the_state_names_its_last_event() -> None:
    """The word of the file, the word of the event, and its time; null before the first settings."""
    table = TableRun()
    assert (table.shown.journal, table.shown.incarnation, table.shown.time) == (None, None, None)
    table.step(incoming=configured(FIRST, WordSince(1, "second")))
    table.hear(closed())
    moment = rfc3339(table.now.utc_us)
    assert (table.shown.journal, table.shown.incarnation, table.shown.time) == ("first", "first", moment)
    table.hear(OPENED)
    table.step()
    assert (table.shown.incarnation, table.shown.sequence) == ("second", "2")
    assert moment < (table.shown.time or "") < rfc3339(table.now.utc_us)


def test_an_id_in_an_event_has_the_word_of_its_event() -> None:
    """A correction in the new incarnation names the result of the earlier one."""
    table = started(FIRST)
    table.hear_each(dealt("8S KS", "3H 4H"))
    result = table.state.last
    assert result is not None
    table.step(incoming=configured(FIRST, WordSince(table.state.sequence, "second"), continued=LOST))
    corrected = [each for each in table.tell(CorrectCard(index=1, card=Card.S9)) if isinstance(each, RoundCorrected)]
    assert [each.supersedes for each in corrected] == [f"first-bac-901-{result.sequence}"]


def test_ids_that_were_recorded_before_a_loss_was_noticed_are_published_with_the_new_word() -> None:
    """Only an id of this table, in a field for ids. With one word the data do not change."""
    data = '{"supersedes":"first-bac-901-10","set_aside":"first-bac-901-9","detail":"first-bac-901-10"}'
    assert with_present_ids(data, "bac-901", (FIRST,)) == data
    assert with_present_ids(data, "bac-902", WORDS) == data
    assert with_present_ids(data, "bac-901", WORDS) == data.replace('des":"first', 'des":"second')


def test_a_table_without_a_shoe_numbers_its_first_shoe_after_the_shoes_elsewhere() -> None:
    """By a card, and by an announcement. A new journal does not begin with shoe 1."""
    lost = replace(LOST, shoe=7, round=3)
    for first in ("card", "announcement"):
        table = TableRun()
        table.step(incoming=configured(FIRST, continued=lost))
        published = table.hear(*NATURAL[:1]) if first == "card" else table.tell(OpenBets())
        begun = [each for each in published if isinstance(each, RoundStarted)]
        assert [(each.shoe, each.round, each.shoe_integrity) for each in begun] == [(8, 1, "partial")]


@pytest.mark.parametrize(("shoe", "number", "starts"), [(1, 1, False), (1, 2, True), (2, 0, True), (0, 0, False)])
def test_a_table_with_an_older_round_starts_a_partial_shoe(shoe: int, number: int, *, starts: bool) -> None:
    """The number of its next round may have been used. Its open round is not the round at the table."""
    table = started(FIRST)
    table.hear_each(NATURAL[:2])
    published = table.step(incoming=configured(*WORDS, continued=replace(LOST, shoe=shoe, round=number)))
    assert [each.data for each in published if isinstance(each.data, ShoeStarted)] == [
        ShoeStarted(shoe=shoe + 1, shoe_integrity="partial")
    ] * starts
    assert any(isinstance(each.data, RoundAbandoned) for each in published) is starts
    assert kinds(table.hear(*NATURAL[:1]))[:1] == [RoundStarted if starts else CardSetAside]


def test_a_round_that_is_dealt_since_the_start_continues() -> None:
    """The loss is noticed at the first connection to the broker. The next round begins a shoe with an unused number."""
    table = started(FIRST)
    table.hear_each(NATURAL[:2])
    lost = replace(LOST, shoe=7, round=3)
    published = table.step(incoming=configured(*WORDS, continued=lost, running=True))
    assert [each.type for each in published] == ["journal.continued"]
    assert table.hands == "8S / 3H"
    table.hear(*NATURAL[2:])
    for first_of_shoe in (True, False):
        heard = table.hear(*NATURAL)
        assert [each for each in heard if isinstance(each, ShoeStarted)] == [
            ShoeStarted(shoe=8, shoe_integrity="partial")
        ] * first_of_shoe
        (begun,) = [each for each in heard if isinstance(each, RoundStarted)]
        assert (begun.shoe, begun.round) == (8, 1 if first_of_shoe else 2)
