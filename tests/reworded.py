"""Texts for people that were reworded after the oracle was frozen.

Theory of operation: `REWORDED` pairs each present text with the text of the oracle. Before a step is compared, the
texts of the engine of shoed are written in the words of the oracle. A text without a pair has to be equal.
"""

import re
from typing import Any, Final

import msgspec

from tests.oracle_engines import Output, value

PARTS: Final = ("events", "answers", "findings", "question")
TEXTS: Final = frozenset({"detail", "evidence", "reading", "reason"})  # keys of texts for people

# The present text as a pattern, and the text of the oracle.
REWORDED: Final = (
    # customs
    ("the first card was drawn before the bets were closed", "the first card came before the bets were closed"),
    (
        r"the cut card left the shoe in round (\d+); rounds after it by the house rule: (\d+)",
        r"the cutting card came in round \1, and \2 are dealt after it",
    ),
    (r"the number of cards burnt at the start of this shoe is (\d+)", r"\1 cards were burnt at the start of this shoe"),
    (
        "the first card, which sets the number, was not read",
        "no first card was read that says how many should have been",
    ),
    (r"and the house rule is (\d+)", r"and \1 should have been"),
    # evidence of notices
    (r"reported by (.+) about round (\d+)", r"told by \1 of round \2"),
    (r"reported by ", "told by "),
    (r"(\S+) requested a new set", r"\1 has the set replaced"),
    # evidence of readings
    ("and its face is unknown", "and nobody has told its face"),
    ("the shoe reported a result, and a card is still due", "the shoe told a result, and a card is still due"),
    ("no card was due in its reported place", "no card was due where it was reported"),
    ("the shoe reported the card as an overdraw", "the shoe says that it was overdrawn"),
    ("no reading explains the report of the device", "no reading explains what the device reported"),
    (r"card (\d+) does not belong to the set", r"card \1 is none of the set"),
    (r"left the shoe (after the round was over|before the first round of the shoe)", r"\1"),
    (
        r"a new set was due after round (\d+), and no new shoe was announced",
        r"a new set was to come after round \1, and none is told",
    ),
    ("the card before it is a card of no round", "the one before it was of no round"),
    ("the card before it is a card of the previous round", "the one before it was of the round before"),
    (r"card (\d+) was recorded as unread, and is", r"card \1 was told as no card, and is"),
    (r"card (\d+) was recorded as (\S+), and is", r"card \1 was told as \2, and is"),
    (r"^round (\d+): card", r"of round \1: card"),
    # readings of rulings
    ("a person of the house voided the round", "a person of the house voided it"),
    ("the round is over; the answer is on record", "the round is over: the answer is on record"),
    # refusals of answers
    (r"may not answer this question; the required role is (.+)", r"may not decide this: it takes \1"),
    (r"is not an answer to this question; write", "is no answer; write"),
    (r"the question (\S+) is not for one bettor; leave bettor out", r"\1 is nobody's own choice: leave bettor out"),
    (r"the question is for (\S+), not for \S+", r"this is asked of \1"),
    (r"(question \d+) was answered or has lapsed", r"\1 was answered, or has lapsed"),
    (r"open questions: ", "the open one is "),
    ("no question is open", "none is open"),
    # refusals of notices
    (
        r"the notice is about matter (\d+) of round (\d+) \((.*)\): no new matter",
        r"this is matter \1 of round \2 already (\3): no new matter",
    ),
    (
        r"the notice is on record in round (\d+) already \((.*)\): no new matter",
        r"this is on record in round \1 already (\2): no new matter",
    ),
    (r"is due now; give the notice after the card is drawn", "is due now: give the notice once the card is drawn"),
    (
        r"is about a notice; add number=N with the `number` of irregularity\.noticed",
        "is about a notice: give the number of its matter",
    ),
    (r"(round \d+ has no matter \d+); `number` of irregularity\.noticed names a matter", r"\1"),
    (r"is not a notice of a person; answer", "is not a notice of a person: answer"),
    (r"a person has decided on (\S+), and the decision is final", r"a person has decided on \1, which is final"),
    (r"is void, and a void is final", "is void, which is final"),
    (r"(\S+) is a consequence, not an irregularity that a person reports", r"\1 is nothing that happens"),
    (
        r"drawn-together needs 2 cards or more; write count=2 or more",
        "one card is not drawn together; count is 2 or more",
    ),
    (r"has not been played; the last round is", "has not been played; the last one is"),
    (
        r"are not kept; shoed keeps the cards of the last round and of rounds with open questions",
        "are not kept: only those of the last round, and of rounds with open questions",
    ),
    (r"no bet with a right to insurance is in play; the table", "no bet stands that insurance was owed to: the table"),
    (
        r"the field other belongs to a notice of wrong-side and names a card of the round; correct the field",
        "only a card of the round can be the other one of a wrong-side",
    ),
    (r"are of one side, so they cannot", "are of one side: they cannot"),
    (r"concerns a card, and no card is drawn yet", "is said of a card, and none was drawn yet"),
    (r"names card (\d+), and the number of cards in the round is (\d+)", r"is said of card \1, and the round has \2"),
    (r"has no place in the round yet; answer", "has no place in the round yet: answer"),
    (
        r"the field order must have the cards from card (\d+) on: (.*)",
        r"order is not the cards that came from card \1 on, \2",
    ),
    # refusals of other commands
    (
        "a player gives no commands except answers; name a role of the house",
        "a player tells the house, and the house tells the table: name a role",
    ),
    (r"(round \d+ is \S+); (.*), or void the round", r"\1: \2, or void the round"),
    ("end the round first", "end it first"),
    (r"bets are not open; the table", "no bets are open: the table"),
    (r"is not a late act; write", "is nothing that is late; write"),
    (r"has no insurance that a squeeze waives", "has no insurance that a squeeze could waive"),
    (
        "insurance is switched off at this table, so a squeeze waives nothing",
        "insurance is switched off at this table: there is none to waive",
    ),
    ("no card is due that could be squeezed", "no card is left to be squeezed"),
    ("a squeeze was granted already in this round", "it was granted already"),
    (
        "a notice reports that insurance was not offered; a later squeeze waives nothing",
        "it was told that insurance was not offered: a squeeze asked for after that waives nothing",
    ),
    (r"no round is complete; the table", "no round is complete: the table"),
    # refusals of corrections
    (r"our interpretation (\d+) applies", r"reading \1 of our readings"),
    (r"may not correct the record; the required role is (.+)", r"may not mend the record: it takes \1"),
    (
        r"is not a card of the round; the number of cards in the round is (\d+)",
        r"is not a card of the round, which has \1",
    ),
    (
        r"for a matter that was noticed before, give the notice with",
        "if a matter was noticed before that, give its notice with",
    ),
    (r"cannot be voided, because the next round", "stands, because the next round"),
    (r"the previous shoe had no round", "the shoe before had no round"),
    # findings of the watch
    (
        r"(\S+) was reported (\d+) times from (.+): foreign, misread, or of another set",
        r"\1 came \2 times from \3: foreign, misread, or another set?",
    ),
    (r"card (\d+) was reported from a set of (\d+) cards", r"card \1 of a set of \2"),
    (r"cards missing from the set: none;", "cards missing from the set: nothing;"),
    (r"(cards missing from the set: [^;]+; cards in excess: )none;", r"\1nothing;"),
    (
        r"cards missing from the set: ([^;]+); cards in excess: ([^;]+); (.*)",
        r"the set lacks \1 and has \2 too many: \3",
    ),
    (r"(\d+) cards, the set does not look shuffled", r"\1 cards this set does not look shuffled"),
    (r"which is not the code of a card", "which is no card's"),
    (r"the device reported fault (\d+), ", r"the device said fault \1, "),
    (r"were drawn from the shoe, and (\d+) could not be read", r"came out of the shoe, and \1 could not be read"),
    (r"ms from a card, closer than", "ms beside a card, closer than"),
    # readings of the rules
    (
        "no bettor missed an offer that would have won",
        "nothing was due to be offered to anybody who did not take it",
    ),
    (
        "the next cards decide whether the insurance would have won",
        "the cards to come will say whether it would have won",
    ),
    (
        "it did not happen: by the corrected faces the card was due",
        "it did not happen: by the faces as they are, the card was the one that was due",
    ),
    (
        "no round is open; the next round waits for a person",
        "nothing is open that could be void; the next round waits for a person",
    ),
    (
        "an error noticed after the next round began does not change this round",
        "what is noticed once the next round has begun leaves this one as it is",
    ),
    (
        r"the document does not define the stakes of a void (game|round): all stakes are returned",
        r"the document does not say what a void \1 does with the stakes: all go back",
    ),
    (
        "the document does not mention cards drawn together: if their order is known, the round continues",
        "the document says nothing of cards drawn together: where their order is known, nothing is amiss",
    ),
    (
        r"(5\.\S+) applies until the next game: a later finding changes neither the old round nor a later one",
        r"\1 ends with the next game: what is found later changes neither the old round nor a later one",
    ),
    (
        "5.3 covers the initial deal alone: a person decides whether 5.4, an altered order, applies",
        "5.3 speaks of the initial deal alone: a person decides whether it is an altered order, 5.4",
    ),
    (
        "5.3 covers an unknown order alone: with a known order the round continues",
        "5.3 speaks of an order that cannot be told: where it can, the round goes on",
    ),
)
Pairs = tuple[tuple[re.Pattern[str], str], ...]
PAIRS: Final[Pairs] = tuple((re.compile(present), before) for present, before in REWORDED)


def in_old_words(output: Output, pairs: Pairs = PAIRS) -> Output:
    """The output with each reworded text in the words of the oracle."""
    parts = {part: value(output, part) for part in PARTS if part in output}
    return {**output, **{part: msgspec.json.encode(translated(each, pairs)) for part, each in parts.items()}}


def translated(found: Any, pairs: Pairs, key: str = "") -> Any:  # noqa: ANN401  # JSON
    match found:
        case dict():
            return {name: translated(each, pairs, name) for name, each in found.items()}
        case list():
            return [translated(each, pairs, key) for each in found]
        case str() if key in TEXTS:
            return old_words(found, pairs)
        case _:
            return found


def old_words(text: str, pairs: Pairs = PAIRS) -> str:
    for present, before in pairs:
        text = present.sub(before, text)
    return text
