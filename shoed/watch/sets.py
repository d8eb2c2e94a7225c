"""The set that the shoe deals, as the shuffler delivered it.

Theory of operation: a set that is delivered while another set is dealt belongs to the next shoe. The next shoe deals
it, unless both report an id and the ids differ. The loaded set is then a different one, and its cards are not counted.
"""

from collections.abc import Iterable

import msgspec
from msgspec.structs import replace

from shoed.model.cards import Card
from shoed.model.observations import SetDeliverySeen
from shoed.watch.order import LETTERS


class DeliveredSet(msgspec.Struct, frozen=True, omit_defaults=True):
    faces: tuple[int, ...]  # in the order of Card
    unread: int = 0
    set_id: str = ""
    order: str = ""  # in letters, until its shoe begins; empty: the order is unknown

    @property
    def cards(self) -> int:
        return sum(self.faces) + self.unread


class KnownSets(msgspec.Struct, frozen=True, omit_defaults=True):
    dealt: DeliveredSet | None = None  # the set of this shoe, or of the next shoe if none has begun
    coming: DeliveredSet | None = None  # delivered while another set was dealt
    loaded: str = ""  # the id that the shoe reported, if it reported one


def delivered(sets: KnownSets, seen: SetDeliverySeen, *, begun: bool, cut: bool) -> KnownSets:
    new = DeliveredSet(counted(seen), seen.unread, seen.set_id, letters(seen.order))
    # After an absence a shuffler reports late: its set may be dealt already. A set keeps its id between shuffles.
    late = sets.dealt is None and seen.set_id != "" and seen.set_id == sets.loaded and not cut
    return replace(sets, coming=new) if begun and not late else replace(sets, dealt=replace(new, order=""))


def counted(seen: SetDeliverySeen) -> tuple[int, ...]:
    return tuple(seen.counts.get(card, 0) for card in Card)


def letters(cards: Iterable[Card]) -> str:
    return "".join(LETTERS[card] for card in cards)


def loaded(sets: KnownSets, set_id: str, *, begun: bool) -> tuple[KnownSets, str | None]:
    """Load a set; `set_id` is empty if unknown. The second value is the id of the expected set if it was not loaded."""
    dealt = sets.dealt
    if dealt is not None and begun and not (set_id and dealt.set_id == set_id):
        dealt = None
    due = sets.coming or dealt
    if due is not None and set_id and due.set_id not in ("", set_id):
        return KnownSets(loaded=set_id), due.set_id
    return KnownSets(dealt, sets.coming, set_id), None


def new_shoe(sets: KnownSets) -> tuple[KnownSets, str | None]:
    """Begin a shoe, which deals the coming set. The second value is the order of that set, if there is one."""
    if sets.coming is None:
        return sets, None
    return replace(sets, dealt=replace(sets.coming, order=""), coming=None), sets.coming.order
