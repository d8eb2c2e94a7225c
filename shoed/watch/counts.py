"""The cards of a shoe, counted: one too often, too many, and at its end what is missing.

Theory of operation: every card that is told has left the shoe, burnt or locked away or played. What was
missed is not in the count, so a count is never too high, and may only be called too low where the whole
shoe was seen.
"""

from collections import Counter
from collections.abc import Sequence
from operator import sub
from typing import Final

import msgspec
from msgspec.structs import replace

from shoed.cards import Card
from shoed.findings import AnyFinding, SetWrong, TooMany, TooOften
from shoed.now import Now
from shoed.observations import CardSeen, Place, SetDelivered
from shoed.watch.sets import Delivered, counted

FACES: Final = {card: number for number, card in enumerate(Card)}
NONE_YET: Final = (0,) * len(FACES)


class Counts(msgspec.Struct, frozen=True, omit_defaults=True):
    """Since the shoe began, or since nothing was missed."""

    faces: tuple[int, ...] = NONE_YET  # in the order of Card
    faceless: int = 0  # cards that were told without a face
    unread: int = 0  # cards that passed unread, or told again, perhaps: each may be one that is not counted
    whole: bool = False  # from the beginning of the shoe
    last: Card | None = None
    slot: str = ""  # where that one was told

    @property
    def cards(self) -> int:
        return sum(self.faces) + self.faceless

    def of(self, card: Card) -> int:
        return self.faces[FACES[card]]


def told_twice(state: Counts, seen: CardSeen) -> bool:
    """Whether it may be the card that was told last: a person will say, and the count must not be too high.

    assumed: the card of an overdraw may have been told before its error or in it, and then it was the last one.
    """
    if seen.card is None or seen.card != state.last:
        return False
    return seen.place is Place.OVERDRAW or (seen.position > 0 and state.slot == slot_of(seen))


def slot_of(seen: CardSeen) -> str:
    return f"{seen.place.value} {seen.position}"


def card(decks: int, held: Delivered | None, state: Counts, seen: CardSeen) -> tuple[Counts, list[AnyFinding]]:
    if seen.card is None:
        state = replace(state, faceless=state.faceless + 1, last=None)
    else:
        number = FACES[seen.card]
        faces = (*state.faces[:number], state.faces[number] + 1, *state.faces[number + 1 :])
        state = replace(state, faces=faces, last=seen.card)
    state = replace(state, slot=slot_of(seen))
    found: list[AnyFinding] = []
    if seen.card is not None and (often := too_often(decks, held, state, seen.card, seen.at)) is not None:
        found.append(often)
    whole = decks * len(FACES) if held is None else min(decks * len(FACES), held.cards)
    if state.cards == whole + 1:  # told once: each card behind it is one more
        found.append(TooMany(at=seen.at, cards=state.cards, whole=whole))
    return state, found


class FacesKnown(msgspec.Struct, frozen=True):
    """A person said which cards of a round these were."""

    at: Now
    before: tuple[Card | None, ...]
    after: tuple[Card | None, ...]


def known(decks: int, held: Delivered | None, state: Counts, seen: FacesKnown) -> tuple[Counts, list[AnyFinding]]:
    """The shoe is counted by the faces as they are now; a face that it then holds too often is found at once."""
    was, now = Counter(seen.before), Counter(seen.after)
    faces = [max(0, n + now[face] - was[face]) for face, n in zip(Card, state.faces, strict=True)]
    told = max(0, was[None] - now[None])  # they have a face now
    of_faceless = min(told, state.faceless)
    unread = max(0, state.unread - (told - of_faceless))
    state = replace(state, faces=tuple(faces), faceless=state.faceless - of_faceless, unread=unread)
    added = [each for each in now - was if each is not None]
    return state, [each for face in added if (each := too_often(decks, held, state, face, seen.at)) is not None]


def too_often(decks: int, held: Delivered | None, state: Counts, face: Card, at: Now) -> TooOften | None:
    times, at_most = state.of(face), most(decks, held, face)
    delivered = at_most if at_most < decks else None
    return TooOften(at=at, card=face, times=times, decks=decks, delivered=delivered) if times > at_most else None


def doubted(state: Counts) -> Counts:
    return replace(state, unread=state.unread + 1)


def most(decks: int, held: Delivered | None, card: Card) -> int:
    """A card that the shuffler could not recognise may be any."""
    return decks if held is None else min(decks, held.faces[FACES[card]] + held.unread)


def difference(whole: Sequence[int], faces: Sequence[int]) -> tuple[dict[Card, int], dict[Card, int]]:
    """What is missing from a whole set, and what there is too much of."""
    over = dict(zip(Card, map(sub, faces, whole), strict=True))
    return {each: -n for each, n in over.items() if n < 0}, {each: n for each, n in over.items() if n > 0}


def delivered(decks: int, seen: SetDelivered, *, coming: bool) -> SetWrong | None:
    """As many may be missing as the shuffler could not recognise, for all that anybody knows."""
    faces = counted(seen)
    missing, extra = difference([decks] * len(FACES), faces)
    if not extra and sum(missing.values()) == seen.unread:
        return None
    unknown = f", and {seen.unread} that it could not recognise" if seen.unread else ""
    evidence = f"the shuffler counted {sum(faces)} cards of {decks * len(FACES)}{unknown}"
    return SetWrong(at=seen.at, missing=missing, extra=extra, evidence=evidence, coming=coming)


def emptied(decks: int, held: Delivered | None, state: Counts, at: Now) -> SetWrong | None:
    """The shoe is empty. As many may be missing as cards passed without a face, for all that anybody knows."""
    whole, spare = ([decks] * len(FACES), 0) if held is None else (held.faces, held.unread)
    missing, extra = difference(whole, state.faces)
    unknown = state.faceless + state.unread
    if not state.whole or (sum(extra.values()) <= spare and sum(missing.values()) <= unknown):
        return None
    of = f"of {sum(whole)}" if held is None else f"of {held.cards} that the shuffler delivered"
    evidence = f"{state.cards} cards {of} came out of the shoe, and {unknown} could not be read"
    return SetWrong(at=at, missing=missing, extra=extra, evidence=evidence)
