"""The set that the shoe deals, as a shuffler delivered it.

Theory of operation: a set that is delivered while another is dealt is the next shoe's. The next shoe deals it, unless
both tell an id and the ids differ: then it is another set, of which nobody counted the cards.
"""

from collections.abc import Iterable

import msgspec
from msgspec.structs import replace

from tests.oracle.engine_5.cards import Card
from tests.oracle.engine_5.observations import SetDelivered
from tests.oracle.engine_5.watch.order import LETTERS


class Delivered(msgspec.Struct, frozen=True, omit_defaults=True):
    faces: tuple[int, ...]  # in the order of Card
    unread: int = 0
    set_id: str = ""
    order: str = ""  # in letters, until its shoe begins; empty: it was not told

    @property
    def cards(self) -> int:
        return sum(self.faces) + self.unread


class Sets(msgspec.Struct, frozen=True, omit_defaults=True):
    dealt: Delivered | None = None  # by this shoe, or by the one that begins next, where none has begun
    coming: Delivered | None = None  # delivered while another was dealt
    loaded: str = ""  # the id that the shoe said, if it said one


def delivered(sets: Sets, seen: SetDelivered, *, begun: bool, cut: bool) -> Sets:
    told = Delivered(counted(seen), seen.unread, seen.set_id, letters(seen.order))
    # A shuffler that was away tells late what is dealt already. A set keeps its id from shuffle to shuffle.
    late = sets.dealt is None and seen.set_id != "" and seen.set_id == sets.loaded and not cut
    return replace(sets, coming=told) if begun and not late else replace(sets, dealt=replace(told, order=""))


def counted(seen: SetDelivered) -> tuple[int, ...]:
    return tuple(seen.counts.get(card, 0) for card in Card)


def letters(cards: Iterable[Card]) -> str:
    return "".join(LETTERS[card] for card in cards)


def loaded(sets: Sets, set_id: str, *, begun: bool) -> tuple[Sets, str | None]:
    """A set is put into the shoe, its id empty where nobody tells it; and the id of the one that was due instead."""
    dealt = sets.dealt
    if dealt is not None and begun and not (set_id and dealt.set_id == set_id):
        dealt = None
    due = sets.coming or dealt
    if due is not None and set_id and due.set_id not in ("", set_id):
        return Sets(loaded=set_id), due.set_id
    return Sets(dealt, sets.coming, set_id), None


def new_shoe(sets: Sets) -> tuple[Sets, str | None]:
    """It deals the set that was coming; and the order of that, if there was one."""
    if sets.coming is None:
        return sets, None
    return replace(sets, dealt=replace(sets.coming, order=""), coming=None), sets.coming.order
