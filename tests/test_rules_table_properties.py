"""Properties of every answer, for any cards, bets, irregularities and decisions."""

import json
from collections import Counter
from fractions import Fraction
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from shoed.cli.rules.table import TableSettler
from shoed.model.cards import Card
from shoed.model.irregularities import IrregularityKind
from shoed.rules.drawing import Hands, due
from shoed.rules.load import book
from shoed.rules.questions import Ask, Choice
from tests.dealing import dealt
from tests.printed import GAMES
from tests.tables import Answer, I, answered, asked, column

KINDS = {game: [bet.name for bet in book(game).bets] for game in GAMES}


def round_of(game: str, random: Random) -> list[Card]:
    rules, hands, cards = book(game), Hands(), []
    shoe = [*Card] * 8
    random.shuffle(shoe)
    while (hand := due(rules, hands)) is not None:
        cards.append(shoe.pop())
        hands = hands.with_card(hand, cards[-1])
    return cards


@st.composite
def tables(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    game = draw(st.sampled_from(GAMES))
    kinds = KINDS[game] + ["player-insurance", "banker-insurance"] * (game == I)
    placed = draw(
        st.lists(
            st.fixed_dictionaries(
                {
                    "seat": st.integers(1, 7),
                    "bettor": st.sampled_from("abcd"),
                    "bet": st.sampled_from(kinds),
                    "stake": st.integers(1, 10**9),
                    "standing": st.booleans(),
                    "stage": st.sampled_from(["after-four", "after-player-third"]),
                }
            ),
            max_size=8,
        )
    )
    limits = {"minimum": draw(st.integers(0, 10**6)), "differential": draw(st.integers(0, 10**9))}
    line = {
        "cards": [card.value for card in round_of(game, Random(draw(st.integers(0, 10**6))))],
        "bets": placed,
        "rounding": draw(st.sampled_from(["down", "half-up"])),
        "noticed": draw(st.booleans()),
        "limits": limits | {"reading": draw(st.sampled_from(["side", "box"]))},
    }
    return game, line


def settled(game: str, line: dict[str, Any]) -> dict[str, Any]:
    answer = json.loads(TableSettler(book(game)).answer(json.dumps({"id": 1, **line}).encode()))
    assert isinstance(answer, dict)
    assert "error" not in answer
    return answer


@given(tables())
def test_money_is_conserved_to_the_last_unit(of: tuple[str, dict[str, Any]]) -> None:
    """Stakes equal the returned amounts and the house's winnings; so does every row by itself."""
    game, line = of
    answer = settled(game, line)
    staked = taken = 0
    for row in answer["settlement"]:
        staked += row["stake"]
        taken += row["returned"] + max(row["winnings"], 0)
        assert 0 <= row["returned"] <= row["stake"]
        assert row["returned"] - row["stake"] == min(row["winnings"], 0)
        exact = abs(row["winnings"]) + Fraction(row["remainder"])
        effective = Fraction(row["effective"])
        ratio = Fraction(row["pays"].split(":")[0]) / int(row["pays"].split(":")[1]) if ":" in row["pays"] else 1
        assert exact == (0 if row["pays"] == "push" else effective * ratio)
        assert abs(Fraction(row["remainder"])) < 1
    assert staked - taken == answer["house"] == -sum(row["winnings"] for row in answer["settlement"])


@given(tables(), st.randoms(use_true_random=False))
def test_the_order_of_accepted_bets_has_no_effect_on_pays(of: tuple[str, dict[str, Any]], random: Random) -> None:
    """It holds for bets without refusals."""
    game, line = of
    line = line | {"noticed": False, "bets": [each for each in line["bets"] if "insurance" not in each["bet"]]}
    if game == "tournament":  # there a side bet must follow the bet on a hand
        line["bets"] = [each for each in line["bets"] if each["bet"] == "player"]
    answer = settled(game, line)
    assert answer["refused"] == []
    shuffled = random.sample(line["bets"], len(line["bets"]))
    again = settled(game, line | {"bets": shuffled})
    rows = [Counter(map(json.dumps, each["settlement"])) for each in (answer, again)]
    assert rows[0] == rows[1]
    assert again["house"] == answer["house"]


@given(st.lists(tables(), min_size=2, max_size=4))
def test_a_settlement_depends_on_its_own_line_alone(several: list[tuple[str, dict[str, Any]]]) -> None:
    """Earlier lines and the id have no effect."""
    alone = [settled(game, line) for game, line in several]
    auditors = {game: TableSettler(book(game)) for game in GAMES}
    for (game, line), answer in reversed(list(zip(several, alone, strict=True))):
        again = json.loads(auditors[game].answer(json.dumps({"id": "other", **line}).encode()))
        assert again | {"id": 1} == answer


# ---------------------------------------------------------------------------------------------- irregularities

EVENTS = [
    event.value
    for event in IrregularityKind
    if event not in (IrregularityKind.SET_REPLACED, IrregularityKind.NOTICED_LATE)
]
MAY_GO_ON = ["drawn-together", "order-altered", "card-in-excess", "card-exposed", "face-up", "dealing-error"]
HOUSE = ("dealer", "pit-supervisor", "pit-manager", "shift-manager")


@st.composite
def decisions(draw: st.DrawFn, cards: list[str]) -> list[dict[str, Any]]:
    choices: dict[Ask, st.SearchStrategy[Any]] = {
        Ask.OPTION: st.sampled_from([Choice.CONTINUE.value, Choice.RETURN.value]),
        Ask.CARD_ORDER: st.integers(0, 5).flatmap(lambda at: st.permutations(cards[at : at + 2])),
        Ask.RULING: st.sampled_from([Choice.CONTINUE.value, Choice.VOID.value]),
        Ask.NEXT_ROUND: st.just(Choice.GO_ON.value),
    }
    return [
        {
            "question": ask.value,
            "choice": draw(choices.get(ask, st.sampled_from([Choice.YES.value, Choice.NO.value]))),
            "role": "player" if ask is Ask.OPTION else draw(st.sampled_from(HOUSE)),
        }
        for ask in draw(st.lists(st.sampled_from([*Ask, Ask.OPTION, Ask.RULING]), max_size=6))
    ]


@st.composite
def irregular(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """Up to seven cards with up to three irregularities; in half of the cases two cards are exchanged."""
    game = draw(st.sampled_from(GAMES))
    cards = [card.value for card in draw(st.lists(st.sampled_from(Card), min_size=2, max_size=7))]
    ordinal = st.integers(1, len(cards))

    def wrong(kind: str) -> dict[str, Any]:
        at = draw(st.integers(1, len(cards) - 1) if kind == "drawn-together" else ordinal)
        meant = draw(st.permutations(cards[at - 1 :])) if kind == "order-altered" and draw(st.booleans()) else []
        return {
            "kind": kind,
            "at": at,
            "noticed_at": draw(st.integers(0, len(cards))),
            "reconstructable": draw(st.sampled_from([None, True, False])),
            "order_known": draw(st.booleans()),
            "of_the_dealing": draw(st.booleans()),
            "between_rounds": draw(st.sampled_from([*[False] * 7, True])),
            "noticed_late": draw(st.sampled_from([*[False] * 7, True])),
            "order": meant,
            "stage": draw(st.sampled_from(["after-four", "after-player-third"])),
        }

    kinds = st.one_of(st.sampled_from(MAY_GO_ON), st.sampled_from(EVENTS))
    irregularities = [wrong(kind) for kind in draw(st.lists(kinds, min_size=1, max_size=3))]
    if draw(st.booleans()):
        one = draw(ordinal)
        other = draw(st.sampled_from([at for at in range(1, len(cards) + 1) if (at - one) % 2]))
        irregularities[1:] = [
            wrong("wrong-side") | {"at": at, "reconstructable": False, "noticed_late": False, "between_rounds": False}
            for at in (one, other)
        ]
    bets = [
        {"seat": 1, "bettor": bettor, "bet": bet, "stake": draw(st.integers(1, 1000)), "stage": "after-four"}
        for bettor, bet in (("a", "player"), ("b", "banker"), ("b", "tie"), *[("a", "player-insurance")] * (game == I))
    ]
    return game, {"cards": cards, "bets": bets, "irregularities": irregularities, "decisions": draw(decisions(cards))}


@settings(max_examples=300)
@given(irregular())
def test_an_irregular_round_has_legal_hands(of: tuple[str, dict[str, Any]]) -> None:
    """Each card was due at its place, and the answer names the next due card; a void round has none."""
    game, line = of
    answer = answered(game, json.dumps(line))
    if (staked := hands_of(answer)) is None:
        return
    first, second, third = ((*staked.player[at : at + 1], *staked.banker[at : at + 1]) for at in range(3))
    assert dealt(book(game), (*first, *second, *third)) == staked
    next_due = due(book(game), staked)
    assert answer["due"] == (next_due.value if next_due and answer["void"] is None else None)
    assert (answer["outcome"] is None) or (next_due is None and answer["void"] is None)


@settings(max_examples=300)
@given(irregular())
def test_an_irregular_round_keeps_all_its_cards(of: tuple[str, dict[str, Any]]) -> None:
    """Each card of known order is in a hand or opens the next round."""
    game, line = of
    answer = answered(game, json.dumps(line))
    if hands_of(answer) is None:
        return
    lie = Counter([*answer["player"]["cards"], *answer["banker"]["cards"], *answer["carried"]])
    known = min(
        (
            line["irregularities"][each["irregularity"]]["at"] - 1
            for each in answer["questions"]
            if each["question"] == "card-order"
        ),
        default=len(line["cards"]),
    )
    if answer["void"] is None:
        assert lie.total() == known
    assert lie <= Counter(line["cards"])


@settings(max_examples=300)
@given(irregular())
def test_an_irregular_round_has_correct_money(of: tuple[str, dict[str, Any]]) -> None:
    """A void or an option returns the stake, an open bet moves no money, and every other bet is settled exactly."""
    game, line = of
    answer = answered(game, json.dumps(line))
    if hands_of(answer) is None:
        return
    back = {each["bettor"] for each in answer["bettors"] if each["took_back"]}
    waits = {bettor for question, bettor, _ in asked(answer) if question == "option"} - back
    for row in answer["settlement"]:
        if answer["void"] is not None or row["bettor"] in back:
            assert (row["pays"], row["returned"], row["winnings"]) == (None, row["stake"], 0)
        elif row["bettor"] in waits:
            assert (row["pays"], row["returned"], row["winnings"]) == (None, 0, 0)
        elif row["pays"] is not None:
            assert row["returned"] - row["stake"] == min(row["winnings"], 0)
    assert answer["house"] == -sum(column(answer, "winnings")) == -sum(each["winnings"] for each in answer["bettors"])


def hands_of(answer: Answer) -> Hands | None:
    """None: there was no irregularity, or an unexplained card is left over."""
    if "error" in answer:
        assert answer["error"]["code"] == "excess-card"
        return None
    if "player" not in answer:
        return None
    player, banker = (tuple(map(Card.parse, answer[hand]["cards"])) for hand in ("player", "banker"))
    return Hands(player, banker)
