"""Counts the cards of a shoe: a card too often, too many cards, and missing cards at the end of the shoe.

Theory of operation: every reported card has left the shoe: burnt, locked away or played. Missed cards are not in the
count, so a count is never too high. A count that is too low is a finding only if no report of the shoe was missed.
"""

from collections import Counter
from collections.abc import Sequence
from operator import sub
from typing import Final

import msgspec
from msgspec.structs import replace

from shoed.model.cards import Card
from shoed.model.findings import AnyFinding, SetWrong, TooMany, TooOften
from shoed.model.moments import Now
from shoed.model.observations import CardSeen, Place, SetDeliverySeen
from shoed.watch.sets import DeliveredSet, counted

FACES: Final = {card: number for number, card in enumerate(Card)}
NONE_YET: Final = (0,) * len(FACES)


class Counts(msgspec.Struct, frozen=True, omit_defaults=True):
    """The cards since the beginning of the shoe, or since the last gap in the reports."""

    faces: tuple[int, ...] = NONE_YET  # in the order of Card
    faceless: int = 0  # cards that were reported without a face
    unread: int = 0  # cards that passed unread or were possibly reported twice: each may be missing from the count
    whole: bool = False  # the counts began with the shoe
    last: Card | None = None
    slot: str = ""  # the place and position of the last card

    @property
    def cards(self) -> int:
        return sum(self.faces) + self.faceless

    def of(self, card: Card) -> int:
        return self.faces[FACES[card]]


def reported_twice(state: Counts, seen: CardSeen) -> bool:
    """Whether this may be the last card again. A person decides, and until then the count must not be too high.

    assumed: the card of an overdraw may have been reported before or during its error; it was then the last card.
    """
    if seen.card is None or seen.card != state.last:
        return False
    return seen.place is Place.OVERDRAW or (seen.position > 0 and state.slot == slot_of(seen))


def slot_of(seen: CardSeen) -> str:
    return f"{seen.place.value} {seen.position}"


def card(decks: int, held: DeliveredSet | None, state: Counts, seen: CardSeen) -> tuple[Counts, list[AnyFinding]]:
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
    if state.cards == whole + 1:  # one finding for the shoe: further cards raise no further finding
        found.append(TooMany(at=seen.at, cards=state.cards, whole=whole))
    return state, found


class FacesKnown(msgspec.Struct, frozen=True):
    """A person named the cards of a round."""

    at: Now
    before: tuple[Card | None, ...]
    after: tuple[Card | None, ...]


def known(decks: int, held: DeliveredSet | None, state: Counts, seen: FacesKnown) -> tuple[Counts, list[AnyFinding]]:
    """Replace the faces before a correction by the faces after it; find a face that is now too often in the count."""
    was, now = Counter(seen.before), Counter(seen.after)
    faces = [max(0, n + now[face] - was[face]) for face, n in zip(Card, state.faces, strict=True)]
    named = max(0, was[None] - now[None])  # cards that have a face now
    of_faceless = min(named, state.faceless)
    unread = max(0, state.unread - (named - of_faceless))
    state = replace(state, faces=tuple(faces), faceless=state.faceless - of_faceless, unread=unread)
    added = [each for each in now - was if each is not None]
    return state, [each for face in added if (each := too_often(decks, held, state, face, seen.at)) is not None]


def too_often(decks: int, held: DeliveredSet | None, state: Counts, face: Card, at: Now) -> TooOften | None:
    times, at_most = state.of(face), most(decks, held, face)
    delivered = at_most if at_most < decks else None
    return TooOften(at=at, card=face, times=times, decks=decks, delivered=delivered) if times > at_most else None


def doubted(state: Counts) -> Counts:
    return replace(state, unread=state.unread + 1)


def most(decks: int, held: DeliveredSet | None, card: Card) -> int:
    """Return the most cards of this face in the set. A card that the shuffler could not recognise may have any face."""
    return decks if held is None else min(decks, held.faces[FACES[card]] + held.unread)


def difference(whole: Sequence[int], faces: Sequence[int]) -> tuple[dict[Card, int], dict[Card, int]]:
    """Return the missing cards and the extra cards, compared with a whole set."""
    over = dict(zip(Card, map(sub, faces, whole), strict=True))
    return {each: -n for each, n in over.items() if n < 0}, {each: n for each, n in over.items() if n > 0}


def delivered(decks: int, seen: SetDeliverySeen, *, coming: bool) -> SetWrong | None:
    """Compare a delivered set with a whole set. Cards that the shuffler could not recognise may be the missing ones."""
    faces = counted(seen)
    missing, extra = difference([decks] * len(FACES), faces)
    if not extra and sum(missing.values()) == seen.unread:
        return None
    unknown = f", and {seen.unread} that it could not recognise" if seen.unread else ""
    evidence = f"the shuffler counted {sum(faces)} cards of {decks * len(FACES)}{unknown}"
    return SetWrong(at=seen.at, missing=missing, extra=extra, evidence=evidence, of_next_shoe=coming)


def emptied(decks: int, held: DeliveredSet | None, state: Counts, at: Now) -> SetWrong | None:
    """Compare the cards of an empty shoe with its set. Cards that passed without a face may be the missing ones."""
    whole, spare = ([decks] * len(FACES), 0) if held is None else (held.faces, held.unread)
    missing, extra = difference(whole, state.faces)
    unknown = state.faceless + state.unread
    if not state.whole or (sum(extra.values()) <= spare and sum(missing.values()) <= unknown):
        return None
    of = f"of {sum(whole)}" if held is None else f"of {held.cards} that the shuffler delivered"
    evidence = f"{state.cards} cards {of} were drawn from the shoe, and {unknown} could not be read"
    return SetWrong(at=at, missing=missing, extra=extra, evidence=evidence)
