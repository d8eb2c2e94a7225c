"""Generate docs/questions.md: every kind of question, with its clauses, its choices and an example from a scenario."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import product
from typing import Final, TypeAlias

from docs.protocol_page import table
from shoed.model.cards import Card
from shoed.model.irregularities import FOLLOWS
from shoed.model.irregularities import IrregularityKind as Kind
from shoed.rules.book import RuleBook, Then
from shoed.rules.irregular import Irregularity, RoundBets, clause_and_role, course, rows_of
from shoed.rules.load import GAMES, book
from shoed.rules.questions import Ask, Decider, Inquiry, Question
from shoed.table.asking import RECORD, RecordAsk, of_the_rules
from shoed.table.readings import READINGS, Situation
from shoed.table.wording import DECIDED_BY, EFFECTS, INTERPRETATIONS, PUT_AWAY, QUESTIONS, ground_of
from tests.shown import Shown, questions

HEAD: Final = """\
# Questions, choices and their effects

`docs/generate.py` writes this page from the code, the rule books and `tests/scenarios`. Do not edit this page. The
retained topic `question` has the first open question. [Events](events.md#question) describes the fields of the message.
The command [`decide`](commands.md#decide) answers a question. The examples are messages of the scenarios.

- The document is the rule document of the game. [Clauses](clauses.md) names its version and lists its clauses.
- Where the document is silent, the question cites one of [our interpretations](#our-interpretations) by its number.
- The effect of a choice is not constant: it depends on the round. `consequences` of the message has the effect of each
  choice on the present round. The tables below have the part of the effect that is the same in every round.
- The required role is a role of the house. A higher role may always decide for a lower one. `player` is not a role of
  the house, and no role of the house decides for a player.
"""
WHEN: Final[Mapping[Ask | RecordAsk, str]] = {
    RecordAsk.FACE: (
        "Asked if the face of a card is not known: the shoe reported a card without a face, or a card left the shoe "
        "without a report. Send the card with its suit, such as `AS`. The choice `any A` of the message describes the "
        "effect of every ace and is not an answer."
    ),
    RecordAsk.GAP: (
        "Asked if reports of the round may be missing, because the link was closed or the device skipped a report "
        "number. `cards-shown` is the answer if no card is missing. Here `none-of-these` ends the round without a "
        "result."
    ),
    RecordAsk.READING: (
        "Asked if a report of the shoe does not agree with the record. [Situations](#situations) lists the choices for "
        "each case. Here `none-of-these` does not end the round."
    ),
    RecordAsk.CONFIRM: (
        "Asked if shoed infers an irregularity from the reports, or if a dealer reports an irregularity that voids the "
        "round and the table requires a confirmation (`confirm_void`, see [configuration](configuration.md)). The "
        "irregularity has an effect only after a person confirms it."
    ),
    RecordAsk.RESTART: (
        "Asked if the shoe starts communication after its cut card while a round is open.\n\n"
        "- Burn cards, the first card of a shoe, or Player's first card after a forced end prove a new shoe. The "
        "question closes without an answer.\n"
        "- The last cards of the round prove the old shoe. The question closes without an answer.\n"
        "- Player's first card without a forced end proves neither. The round waits for the answer.\n"
        "- If the round has no card, its first card may be a card of either shoe. The round waits for the answer after "
        "this card."
    ),
    Ask.CARD_ORDER: "Asked if cards left the shoe together and their order is not known.",
    Ask.RECONSTRUCTABLE: (
        "Asked if the document has one consequence for cards that can be put back in their order, and another "
        "consequence for cards that cannot."
    ),
    Ask.RULING: "Asked if the document leaves the decision to a person, or if the document is silent.",
    Ask.OPTION: (
        "Asked if the document gives each player a choice after an irregularity: keep the bets of the round in "
        "play, or take them back."
    ),
    Ask.SET_REPLACED: (
        "Asked if cards left the shoe together. The round does not wait for the answer. After the answer `yes`, the "
        "next round waits for a new set."
    ),
    Ask.INTENDED: (
        "Asked if insurance was not offered and an insurance bet would have won. The round does not wait for the "
        "answer."
    ),
    Ask.NEXT_ROUND: (
        "Asked in three cases: an irregularity was found between two rounds, a card was left over after a round, or "
        "the next round began before a person answered an earlier question. In the third case play does not wait for "
        "the answer. In the other cases play waits for the answer, so there is no choice `no`.\n\n"
        "If a pit supervisor or a higher role reported the irregularity, the question requires the role of this "
        "author, or the role in the table if that role is higher."
    ),
}
OTHER_CHOICES: Final[Mapping[Ask | RecordAsk, str]] = {
    RecordAsk.FACE: "a card, as in `8S`",
    Ask.CARD_ORDER: "the cards in their order, as in `6C,8H`",
    Ask.RULING: "`continue`, `void`",
}
# One sentence for each `Situation`, by its name.
SITUATIONS: Final[Mapping[str, str]] = {
    "OVERDRAW": "The shoe reports an overdraw while a card is due.",
    "OVERDRAW_REPEATED": "The shoe reports an overdraw. The overdrawn card has the face of the previous card.",
    "IN_NO_HAND": (
        "During a round the shoe reports a card as burnt, as locked, as in error, or with a value that the protocol "
        "document does not have."
    ),
    "IN_NO_HAND_REPEATED": ("As `in-no-hand`, and the card has the face of the previous card."),
    "IN_NO_HAND_AFTER_END": ("As `in-no-hand`, after the last card of the round."),
    "RESULT_TOO_EARLY": "The shoe reports a result while a card is due.",
    "EXPOSED_BEFORE": "A person reported the face of an exposed card. The shoe now reports a card with the same face.",
    "FIRST_REPEATED": "The shoe reports Player's first card again, before any other card of Player.",
    "AFTER_GAP_DUE": "Reports of the round may be missing. The shoe reports a card in the due place.",
    "AFTER_GAP": "Reports of the round may be missing. The shoe reports a card in another place.",
    "AFTER_END": "The round is complete. The reported card may be the first card of the next round.",
    "AFTER_END_THIRD": ("After the end of the round reports may be missing. The shoe reports a third card."),
    "AFTER_END_SLOT_FILLED": "The round is complete. The shoe reports a card in a place that has a card.",
    "FIRST_AFTER_CARRIED": "Cards were left over from the last round. The next reported card is not in the due place.",
    "FIRST_AFTER_CARRIED_DUE": "Cards were left over from the last round. The next reported card is in the due place.",
    "OTHER_HANDS": "The shoe counts other hands than the record has. The reported card may be the due card.",
    "SLOT_FILLED": "The shoe reports a card in a place that has a card.",
    "THIRD_CARD_NOT_DUE": "Player stands, and the shoe reports a third card of Player. The card is in excess.",
    "OTHER_HAND": "The shoe reports the next card of the wrong hand: a card of the other hand is due.",
    "LATER_SLOT": "The shoe reports a place after the due place.",
    "BEFORE_FIRST_ROUND": (
        "Before the first round of a shoe that was not joined midway, the shoe reports a card of a hand other than "
        "Player's first card."
    ),
    "STARTED_AFTER_CUT": "The shoe starts communication after its cut card while a round is open.",
}
# Six cards that are all due: every position exists.
DEAL: Final = (Card.H2, Card.C2, Card.H3, Card.C3, Card.H5, Card.C4)

OURS: Final = """\
## Our interpretations

Where a document is silent, a question, an answer or an event cites one of these interpretations by its number. The
numbers are constant. Numbers that are not in the table are not cited.
"""
OF_THE_BOOKS: Final = """\
The entries of the rule books without a clause have an interpretation of their own. `shoed rules show GAME` prints it.
The events `irregularity/ruled` and `round/voided` publish it in the field `reading`. [Rules-table](rules-table.md)
explains the consequences.
"""

Source: TypeAlias = tuple[str, str]  # the clause, and the sentence that names the role


class PageError(Exception):
    """A table of the page does not match the code."""


def page() -> str:
    shown = questions()
    parts = [
        HEAD,
        *(section(ask, [each for each in shown if each.question.question == ask.value]) for ask in QUESTIONS),
    ]
    parts.append(
        "## Situations\n\nThe choices of `reading`, `gap` and `restart` for each situation, in the order of the "
        "question. A choice that cannot be true is omitted. If `excess` is the only choice, no person is asked.\n"
    )
    parts.append(situations())
    parts.append(OURS)
    parts.append(table(("number", "interpretation"), ((str(number), text) for number, text in INTERPRETATIONS.items())))
    parts.append(OF_THE_BOOKS)
    parts.append(table(("game", "rule or irregularity", "consequence", "interpretation"), of_the_books()))
    return "\n\n".join(each.strip() for each in parts) + "\n"


def section(ask: Ask | RecordAsk, shown: Sequence[Shown]) -> str:
    if not shown:
        raise PageError(f"no scenario asks the question {ask.value}")
    parts = [f"## `{ask.value}`\n", f"**{QUESTIONS[ask]}**\n", f"{WHEN[ask]}\n"]
    parts.append(table(("game", "irregularity", "clause", "required role"), clauses(ask, shown)))
    parts.append(table(("choice", "effect"), choices(ask)))
    parts.append(example(max(shown, key=lambda each: len(each.question.consequences))))
    return "\n\n".join(each.strip() for each in parts)


def choices(ask: Ask | RecordAsk) -> Iterator[tuple[str, str]]:
    if ask in OTHER_CHOICES:
        yield OTHER_CHOICES[ask], "The round is computed with this answer."
    for (of, choice), effect in EFFECTS.items():
        if of is ask:
            yield f"`{choice}`", f"{effect}."
    if ask is Ask.NEXT_ROUND:
        yield "`go-on` (a card was left over)", f"{PUT_AWAY}. Play continues."


def example(shown: Shown) -> str:
    written, asked = shown
    effects = table(("choice", "effect"), ((f"`{','.join(each.choice)}`", each.effect) for each in asked.consequences))
    evidence = f"\n>\n> Evidence: {'; '.join(asked.evidence)}." if asked.evidence else ""
    file = written.name.removesuffix(f"-{written.game[0]}")
    return (
        f"Example, [`{file}`](../tests/scenarios/{file}.toml), {book(written.game[0]).title}:\n\n"
        f"> {asked.text}\n>\n> {asked.decided_by} {asked.ground}{evidence}\n\n{effects}"
    )


def situations() -> str:
    names = {each.name for each in Situation}
    if wrong := sorted(names ^ set(SITUATIONS)):
        raise PageError(f"docs/questions_page.py: SITUATIONS must have one sentence for each Situation: {wrong}")
    return table(
        ("situation", "meaning", "choices"),
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


def of_the_books() -> Iterator[tuple[str, str, str, str]]:
    """The entries of the rule books that cite no clause, each with its interpretation."""
    for of in map(book, GAMES):
        for rule, ground in of.rules.items():
            if not ground.clause:
                yield of.id, f"`{rule.value}`", "", ground.reading
        for row in of.irregularities:
            if not row.clause:
                facts = ", ".join(fact.value if wanted else f"not {fact.value}" for fact, wanted in row.when.items())
                yield of.id, f"`{row.kind.value}`{f' ({facts})' if facts else ''}", f"`{row.then.value}`", row.reading


def clauses(ask: Ask | RecordAsk, shown: Sequence[Shown]) -> Iterator[tuple[str, ...]]:
    """Games with the same text share a row. Irregularities of one game with the same clause share a row, too."""
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


def sources(ask: Ask | RecordAsk, of: RuleBook, shown: Sequence[Shown]) -> Iterator[tuple[str, Source]]:
    match ask:
        case RecordAsk.FACE | RecordAsk.RESTART | RecordAsk.GAP:
            yield "all", source(of, ask, "", None, RECORD)
        case RecordAsk.READING:
            other, overdraw = (
                source(of, ask, clause, None, RECORD) for clause in ("", clause_and_role(of, Kind.CARD_IN_EXCESS)[0])
            )
            if other == overdraw:
                yield "all", other
            else:
                yield from (("overdraw", overdraw), ("all other reports", other))
        case RecordAsk.CONFIRM:
            for kind in dict.fromkeys(Kind(each.question.kind) for each in shown):
                clause = next((row.clause for row in rows_of(of, kind)), "")
                yield kind.value, source(of, ask, clause, kind, RECORD)
        case _:
            for kind, each in by_the_rules(of.id):
                if each.ask is ask:
                    yield kind.value, source(of, ask, each.clause, kind, of_the_rules(each, 0).role)


@cache
def by_the_rules(game: str) -> tuple[tuple[Kind, Question], ...]:
    """The questions of the rules about every irregularity in every variant."""
    no_yes = (False, True)
    asked: list[tuple[Kind, Question]] = []
    for kind, at, known, back, dealt, between in product(Kind, (2, 5), no_yes, (None, *no_yes), no_yes, no_yes):
        if kind in FOLLOWS or kind is Kind.INSURANCE_NEGLECTED:
            continue
        irregularity = Irregularity(
            kind, at, at, order_known=known, reconstructable=back, of_the_dealing=dealt, between_rounds=between
        )
        inquiry = Inquiry([])
        course(book(game), DEAL, [irregularity], inquiry, RoundBets(("a",)))
        asked += [(kind, each) for each in inquiry.open]
    for row in book(game).irregularities:
        if row.then is Then.RETURN_ORIGINAL:
            asked.append((row.kind, Question(Ask.INTENDED, 0, row.decides, row.clause)))
    clause, role = clause_and_role(book(game), Kind.SET_REPLACED)
    # The next round waits for the new set. The author of `replace-set` has this role or a higher one.
    asked.append((Kind.SET_REPLACED, Question(Ask.NEXT_ROUND, 0, role or RECORD, clause)))
    return tuple(asked)


def source(of: RuleBook, ask: Ask | RecordAsk, clause: str, kind: Kind | None, role: Decider | None) -> Source:
    return clause or ground_of(of, ask, "", kind), DECIDED_BY[role]
