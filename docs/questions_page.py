"""docs/questions.md: every kind of question, with its clauses, its choices and an example from a scenario."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import product
from typing import Final, TypeAlias

from firmware_protocols.page import table
from shoed.cards import Card
from shoed.rules.book import RuleBook, Then
from shoed.rules.irregular import Happened, Layout, course, rows_of, said_of
from shoed.rules.load import GAMES, book
from shoed.rules.questions import Ask, Inquiry, Question, Voice
from shoed.table.asking import RECORD, Doubt
from shoed.table.readings import READINGS, Situation
from shoed.table.wording import DECIDED_BY, EFFECTS, OUR_READINGS, PUT_AWAY, QUESTIONS, ground_of
from shoed.words import FOLLOWS
from shoed.words import Event as Kind
from tests.shown import Shown, questions

HEAD: Final = """\
# Questions: what a person is asked, and what each answer does

Written by `docs/generate.py` from the code, the rule books and `tests/scenarios`; do not edit. The retained message
`question` shows the question that is asked first; [events](events.md#question) describes its fields, and `decide` in
[commands](commands.md) answers it. The examples are the messages that the scenarios produce.
"""
WHEN: Final[Mapping[Ask | Doubt, str]] = {
    Doubt.FACE: "A card left the shoe, and its face is not known.",
    Doubt.GAP: "Reports of the round may be missing, after an absence or a jump of the device's numbers.",
    Doubt.READING: "The shoe reports a card or a result that is not due. [Situations](#situations) lists the readings.",
    Doubt.CONFIRM: "The watch infers an irregularity from the reports. It counts once a person confirms it.",
    Doubt.RESTART: (
        "The shoe starts communication after its cut card, and a round is open. Burn cards, the first card of a "
        "shoe, or Player's first card after a forced end prove a new shoe; the last cards of the round prove the old "
        "one. The round waits for the answer with a first card of Player that no forced end precedes. A round that had "
        "no card when the shoe started waits with its first card, which proves nothing."
    ),
    Ask.CARD_ORDER: "Cards left the shoe together, and their order is not known.",
    Ask.RECONSTRUCTABLE: "The consequence depends on whether the cards can be put back in their order.",
    Ask.RULING: "The document leaves the decision to a person, or has no provision.",
    Ask.OPTION: "The document lets each player continue, or take the bets of the round back.",
    Ask.SET_REPLACED: "Cards left the shoe together. The round does not wait for the answer.",
    Ask.INTENDED: "Insurance was not offered, and it would have won. The round does not wait for the answer.",
    Ask.NEXT_ROUND: (
        "An irregularity was found between two rounds, a card was left over after a round, or the next round began "
        "before the matter was decided. In the last case play does not wait for the answer."
    ),
}
OTHER_CHOICES: Final[Mapping[Ask | Doubt, str]] = {
    Doubt.FACE: "a card, as in `8S`",
    Ask.CARD_ORDER: "the cards in their order, as in `6C,8H`",
    Ask.RULING: "`continue`, `void`",
}
# One sentence for each `Situation`, by its name.
SITUATIONS: Final[Mapping[str, str]] = {
    "OVERDRAW": "The shoe reports an overdraw while a card is due.",
    "OVERDRAW_REPEATED": "The shoe reports an overdraw with the face of the card before it.",
    "IN_NO_HAND": "In the middle of a round, a card leaves the shoe as burnt, locked, in error or to an unknown place.",
    "IN_NO_HAND_REPEATED": "The same, with the face of the card before it.",
    "IN_NO_HAND_AFTER_END": (
        "The round is complete, and a card leaves the shoe as burnt, locked, in error or to an unknown place."
    ),
    "RESULT_TOO_EARLY": "The shoe reports a result while a card is due.",
    "EXPOSED_BEFORE": "The shoe reports a card with the face of an exposed card that a person entered before.",
    "FIRST_REPEATED": "The shoe reports Player's first card once more, before any other card of Player.",
    "AFTER_GAP_DUE": "Reports of the round may be missing, and the next card is reported in the place that is due.",
    "AFTER_GAP": "Reports of the round may be missing, and the next card is not reported in the place that is due.",
    "AFTER_END": "The round is complete, and the report may be the first of the next round.",
    "AFTER_END_THIRD": "The round is complete and reports may be missing since then; the shoe reports a third card.",
    "AFTER_END_SLOT_FILLED": "The round is complete, and the shoe reports a card in a place that has a card.",
    "FIRST_AFTER_CARRIED": "The first report after cards that were left over; the place is not the one that is due.",
    "FIRST_AFTER_CARRIED_DUE": "The first report after cards that were left over; the place is the one that is due.",
    "OTHER_HANDS": "The shoe counts other hands than the record, and its place may be any that is due.",
    "SLOT_FILLED": "The shoe reports a card in a place that has a card.",
    "THIRD_CARD_NOT_DUE": "Player stands, and the shoe reports a third card of Player. The card is in excess.",
    "OTHER_HAND": "The shoe reports the next card of the hand that is not due.",
    "LATER_SLOT": "The shoe reports a place after the one that is due.",
    "BEFORE_FIRST_ROUND": (
        "Before the first round of a shoe that was not joined midway, the shoe reports a card of a hand that is not "
        "Player's first one."
    ),
    "STARTED_AFTER_CUT": "The shoe starts communication after its cut card, and a round is open.",
}
# Six cards that are all due, so that every position exists.
DEAL: Final = (Card.H2, Card.C2, Card.H3, Card.C3, Card.H5, Card.C4)

Source: TypeAlias = tuple[str, str]  # the clause, and the sentence that names the role


class PageError(Exception):
    """A table of the page does not fit the code."""


def page() -> str:
    shown = questions()
    parts = [
        HEAD,
        *(section(ask, [each for each in shown if each.question.question == ask.value]) for ask in QUESTIONS),
    ]
    parts.append("## Situations\n\nThe readings of a report that is not due, in the order in which they are offered:\n")
    parts.append(situations())
    parts.append("## Our readings\n\nThe readings that a question names where the document is silent:\n")
    parts.append(table(("reading", "text"), ((str(number), text) for number, text in OUR_READINGS.items())))
    return "\n\n".join(each.strip() for each in parts) + "\n"


def section(ask: Ask | Doubt, shown: Sequence[Shown]) -> str:
    if not shown:
        raise PageError(f"no scenario asks the question {ask.value}")
    parts = [f"## `{ask.value}`\n", f"{QUESTIONS[ask]} {WHEN[ask]}\n"]
    parts.append(table(("game", "irregularity", "clause", "who decides"), clauses(ask, shown)))
    parts.append(table(("choice", "effect"), choices(ask)))
    parts.append(example(max(shown, key=lambda each: len(each.question.consequences))))
    return "\n\n".join(each.strip() for each in parts)


def choices(ask: Ask | Doubt) -> Iterator[tuple[str, str]]:
    if ask in OTHER_CHOICES:
        yield OTHER_CHOICES[ask], "the round that follows"
    for (of, choice), effect in EFFECTS.items():
        if of is ask:
            yield f"`{choice}`", f"{effect}."
    if ask is Ask.NEXT_ROUND:
        yield "`go-on`, of a card that was left over", f"{PUT_AWAY}."


def example(shown: Shown) -> str:
    written, asked = shown
    effects = table(("choice", "effect"), ((f"`{','.join(each.choice)}`", each.effect) for each in asked.consequences))
    file = written.name.removesuffix(f"-{written.game[0]}")
    return (
        f"Example, [`{file}`](../tests/scenarios/{file}.toml), {book(written.game[0]).title}:\n\n"
        f"> {asked.text}\n>\n> {asked.decided_by} {asked.ground}\n\n{effects}"
    )


def situations() -> str:
    names = {each.name for each in Situation}
    if wrong := sorted(names ^ set(SITUATIONS)):
        raise PageError(f"docs/questions_page.py: SITUATIONS must have one sentence for each Situation: {wrong}")
    return table(
        ("situation", "what happened", "readings"),
        (
            (
                each.name.lower().replace("_", "-"),
                SITUATIONS[each.name],
                ", ".join(f"`{reading.value}`" for reading in READINGS[each]),
            )
            for each in Situation
        ),
    )


# --- from the books


def clauses(ask: Ask | Doubt, shown: Sequence[Shown]) -> Iterator[tuple[str, ...]]:
    """Games of the same words share a row; irregularities of one game with the same clause do, too."""
    rows: dict[tuple[str, ...], list[str]] = {}
    for game in GAMES:
        kinds: dict[Source, list[str]] = {}
        for kind, source in sources(ask, book(game), shown):
            if kind not in kinds.setdefault(source, []):
                kinds[source].append(kind)
        for (clause, who), of in kinds.items():
            rows.setdefault((", ".join(of), clause, who), []).append(game)
    for row, games in rows.items():
        yield ", ".join(games) if games != list(GAMES) else "all", *row


def sources(ask: Ask | Doubt, of: RuleBook, shown: Sequence[Shown]) -> Iterator[tuple[str, Source]]:
    match ask:
        case Doubt.FACE | Doubt.RESTART:
            yield "-", source(of, ask, "", None, RECORD)
        case Doubt.READING | Doubt.GAP:
            yield "-", source(of, ask, "", None, RECORD)
            yield "an overdraw", source(of, ask, said_of(of, Kind.CARD_IN_EXCESS)[0], None, RECORD)
        case Doubt.CONFIRM:
            for kind in dict.fromkeys(Kind(each.question.kind) for each in shown):
                clause = next((row.clause for row in rows_of(of, kind)), "")
                yield kind.value, source(of, ask, clause, kind, RECORD)
        case _:
            for kind, each in by_the_rules(of.id):
                if each.ask is ask:
                    yield kind.value, source(of, ask, each.clause, kind, each.role)


@cache
def by_the_rules(game: str) -> tuple[tuple[Kind, Question], ...]:
    """The questions about every irregularity in every variant, by the rules as they are."""
    no_yes = (False, True)
    asked: list[tuple[Kind, Question]] = []
    for kind, at, known, back, dealt, between in product(Kind, (2, 5), no_yes, (None, *no_yes), no_yes, no_yes):
        if kind in FOLLOWS or kind is Kind.INSURANCE_NEGLECTED:
            continue
        happened = Happened(
            kind, at, at, order_known=known, reconstructable=back, of_the_dealing=dealt, between_rounds=between
        )
        inquiry = Inquiry([])
        course(book(game), DEAL, [happened], inquiry, Layout(("a",)))
        asked += [(kind, each) for each in inquiry.open]
    for row in book(game).irregularities:
        if row.then is Then.RETURN_ORIGINAL:
            asked.append((row.event, Question(Ask.INTENDED, 0, row.decides, row.clause)))
        if row.event is Kind.SET_REPLACED:  # the next round waits for the new set
            asked.append((row.event, Question(Ask.NEXT_ROUND, 0, row.decides, row.clause)))
    return tuple(asked)


def source(of: RuleBook, ask: Ask | Doubt, clause: str, kind: Kind | None, role: Voice | None) -> Source:
    return clause or ground_of(of, ask, "", kind), DECIDED_BY[role]
