"""Cards as text: each card has one written form."""

import json

import pytest

from shoed.model.cards import Card, Rank, Suit

RANKS = ("A", "2", "3", "4", "5", "6", "7", "8", "9", "10", "J", "Q", "K")


def test_there_are_52_cards_and_each_is_written_rank_then_suit() -> None:
    """The texts are `8S`, `10H`, `AC` and so on, in ASCII."""
    assert {str(card) for card in Card} == {f"{rank}{suit}" for rank in RANKS for suit in "SHDC"}
    assert len(Card) == 52


def test_a_card_has_its_own_rank_and_suit() -> None:
    """Rank and suit together identify the card; ranks are numbers from 1, the ace, to 13, the king."""
    assert (Card.parse("AC").rank, Card.parse("AC").suit) == (Rank.ACE, Suit.CLUBS)
    assert (Card.parse("10H").rank, Card.parse("10H").suit) == (Rank.TEN, Suit.HEARTS)
    assert [Card.parse(f"{rank}D").rank for rank in RANKS] == list(range(1, 14))
    for card in Card:
        assert Card.of(card.rank, card.suit) is card
        assert Card.parse(str(card)) is card


def test_a_ten_may_be_read_as_t_and_is_written_as_10() -> None:
    """`T` is read, and `10` is written."""
    assert str(Card.parse("TS")) == "10S"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "S",
        "8",
        "S8",
        "8s",
        "aS",
        "1S",
        "0S",
        "11S",
        "8SS",
        "8 S",
        " 8S",
        "8S\n",
        "10",
        "XX",
        "8\N{BLACK SPADE SUIT}",
    ],
)
def test_any_other_text_is_refused_with_a_remedy(text: str) -> None:
    """Only the exact form is a card; the error has the text, the ranks and the suits."""
    with pytest.raises(ValueError, match=r"is not a card; write a rank .* and a suit") as refusal:
        Card.parse(text)
    assert json.dumps(text, ensure_ascii=not text.isprintable()) in str(refusal.value)
