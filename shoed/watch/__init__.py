"""The watch: what went wrong, noticed in the observations alone, with its evidence.

Theory of operation: a fold over observations. Nothing here decides what a finding means for
the round; it goes on record with the Step that found it. Whatever is counted over a shoe begins
anew where another shoe may have begun unseen: a count that is too low raises no false alarm.
"""

from typing import Final

import msgspec
from msgspec.structs import asdict, replace

from shoed.findings import AnyFinding, OrderAltered, OtherSet, ShuffleFailed, Unread
from shoed.now import Now
from shoed.observations import (
    AnyObservation,
    CardSeen,
    CommunicationStarted,
    CutCardSeen,
    Device,
    DeviceStatus,
    FaultCleared,
    FaultMeaning,
    FaultRaised,
    LinkClosed,
    LinkOpened,
    Place,
    Resumed,
    SequenceJumped,
    SetDelivered,
    ShoeEmptied,
    ShoeLoaded,
    ShuffleEnded,
)
from shoed.watch import counts, order, sets, shuffle, spacing
from shoed.watch.counts import FACES, Counts, FacesKnown
from shoed.watch.order import Order
from shoed.watch.sets import Sets
from shoed.watch.settings import WatchSettings
from shoed.watch.shuffle import Shuffle
from shoed.watch.spacing import Spacing

__all__ = ["FacesKnown", "WatchSettings", "WatchState", "emptied", "new_shoe", "watch"]

UNREAD: Final = {FaultMeaning.UNREAD, FaultMeaning.BAD_CODE}


class WatchState(msgspec.Struct, frozen=True, omit_defaults=True):
    spacing: Spacing = Spacing()
    counts: Counts = Counts()
    order: Order = Order()
    sets: Sets = Sets()
    shuffle: Shuffle = Shuffle()
    missed: bool = False  # reports of this shoe were: its cards so far are not known
    away: bool = False  # the link closed, and nothing proved since that no report was missed
    cut: bool = False  # the cutting card came out of this shoe
    faults: tuple[int, ...] = ()  # codes of those that stand and say something of the cards


def watch(  # noqa: C901, PLR0912 -- one line each
    settings: WatchSettings, state: WatchState, seen: AnyObservation | FacesKnown
) -> tuple[WatchState, tuple[AnyFinding, ...]]:
    """One observation, or a correction of a person, and what is to be noticed in it."""
    match seen:
        case FacesKnown():
            counted, wrong = counts.known(settings.decks, state.sets.dealt, state.counts, seen)
            return replace(state, counts=counted), tuple(wrong)
        case SetDelivered():
            return delivered(settings, state, seen)
        case ShuffleEnded(failed=reason, set_id=set_id) if reason:
            return state, (ShuffleFailed(at=seen.at, reason=reason, set_id=set_id),)
        case _ if seen.device is Device.SHUFFLER:
            return state, ()  # its line and its faults are no matter of the cards
        case CardSeen():
            return card(settings, state, seen)
        case FaultRaised():
            return fault(settings, state, seen)
        case FaultCleared(code=code):
            return replace(state, faults=tuple([each for each in state.faults if each != code])), ()
        case DeviceStatus():
            return status(settings, state, seen)
        case LinkOpened():
            return replace(state, spacing=spacing.opened(seen.at)), ()
        case LinkClosed():
            return replace(state, away=True), ()
        case Resumed(proven=True):
            return replace(state, away=False), ()
        case Resumed() | SequenceJumped():
            return missed(state), ()
        case CutCardSeen():
            return replace(state, cut=True), ()
        case ShoeEmptied():
            return state, emptied(settings, state, seen.at)
        case ShoeLoaded(set_id=set_id):
            return loaded(state, seen.at, set_id)
        case CommunicationStarted() if state.cut:
            return loaded(state, seen.at, "")
        case _:
            return state, ()


def begun(state: WatchState) -> bool:
    """Whether cards of this shoe came, or may have come."""
    return state.missed or state.counts.cards > 0


def delivered(
    settings: WatchSettings, state: WatchState, seen: SetDelivered
) -> tuple[WatchState, tuple[AnyFinding, ...]]:
    after = sets.delivered(state.sets, seen, begun=begun(state), cut=state.cut)
    coming = after.dealt is state.sets.dealt
    wrong = counts.delivered(settings.decks, seen, coming=coming)
    if not coming:  # told late, its place is to be found
        letters = sets.letters(seen.order)
        state = replace(state, order=Order(letters, state.counts.cards, lost=begun(state) and letters != ""))
    return replace(state, sets=after), () if wrong is None else (wrong,)


def loaded(state: WatchState, at: Now, set_id: str) -> tuple[WatchState, tuple[AnyFinding, ...]]:
    """Another shoe begins, unless a round still needs cards of this one."""
    state, due = anew(state, set_id)
    return state, () if due is None else (OtherSet(at=at, delivered=due, loaded=set_id),)


def anew(state: WatchState, set_id: str) -> tuple[WatchState, str | None]:
    """The cards are counted anew; and the id of the set that was due, if this one is another."""
    was_begun = begun(state)
    after, due = sets.loaded(state.sets, set_id, begun=was_begun)
    ordered = state.order if after.dealt is not None and not was_begun else Order()
    return replace(state, counts=Counts(), shuffle=Shuffle(), order=ordered, sets=after), due


def missed(state: WatchState) -> WatchState:
    """Reports were missed, and with them perhaps a change of shoe."""
    return replace(state, counts=Counts(), shuffle=Shuffle(), order=order.lose(state.order), away=False, missed=True)


def new_shoe(state: WatchState, *, announced: bool, whole: bool) -> WatchState:
    """Begin a shoe.

    `announced`: by a command; else its cards are counted since it started to speak. `whole`: nothing of it was missed.
    """
    if announced:
        state, _ = anew(state, "")
    after, letters = sets.new_shoe(state.sets)
    if letters is not None:
        state = replace(state, order=Order(letters, state.counts.cards))
    return replace(state, counts=replace(state.counts, whole=whole), sets=after, cut=False, missed=False)


def emptied(settings: WatchSettings, state: WatchState, at: Now) -> tuple[AnyFinding, ...]:
    """Hold what came out of an empty shoe against the set; nothing to say where it was not seen whole."""
    wrong = None if state.away else counts.emptied(settings.decks, state.sets.dealt, state.counts, at)
    return () if wrong is None else (wrong,)


def card(settings: WatchSettings, state: WatchState, seen: CardSeen) -> tuple[WatchState, tuple[AnyFinding, ...]]:
    if state.away:
        state = missed(state)
    spaced, together = spacing.card(settings, state.spacing, seen)
    state = replace(state, spacing=spaced)
    found: list[AnyFinding] = [] if together is None else [together]
    if seen.card is None:
        evidence = f"the shoe reported a card with the code {seen.code}, which is no card's"
        found.append(Unread(at=seen.at, meaning=None, code=seen.code, evidence=evidence))
    if seen.place is Place.SET_UP:  # cards to try the shoe with
        return state, tuple(found)
    if counts.told_twice(state.counts, seen):
        return replace(state, counts=counts.doubted(state.counts)), tuple(found)
    before, after = state.counts, state.shuffle
    if seen.card is not None and before.last is not None and seen.place is not Place.OVERDRAW:  # that one is told late
        after, unshuffled = shuffle.card(
            settings.decks, after, before.faces, (FACES[before.last], FACES[seen.card]), seen.at
        )
        found += [] if unshuffled is None else [unshuffled]
    counted, wrong = counts.card(settings.decks, state.sets.dealt, before, seen)
    ordered, altered = order.card(state.order, seen)
    found += [*wrong, *([] if altered is None else [altered])]
    return replace(state, counts=counted, shuffle=after, order=ordered), tuple(found)


def fault(settings: WatchSettings, state: WatchState, seen: FaultRaised) -> tuple[WatchState, tuple[AnyFinding, ...]]:
    spaced, together = spacing.fault(settings, state.spacing, seen)
    state = replace(state, spacing=spaced)
    if seen.meaning is not None and seen.code not in state.faults:
        state = replace(state, faults=(*state.faults, seen.code))
    found: list[AnyFinding] = [] if together is None else [together]
    said = f"the device said fault {seen.code}, {seen.name}"
    if seen.meaning in UNREAD:
        found.append(Unread(at=seen.at, meaning=seen.meaning, code="", evidence=said))
        state = replace(state, counts=counts.doubted(state.counts), order=order.lose(state.order))
    elif seen.meaning is FaultMeaning.REVERSED:
        evidence = f"{said}: a card ran backwards"
        found.append(OrderAltered(at=seen.at, card=None, expected=None, evidence=evidence))
    return state, tuple(found)


def status(settings: WatchSettings, state: WatchState, seen: DeviceStatus) -> tuple[WatchState, tuple[AnyFinding, ...]]:
    """The report of a fault that stands now may have been lost: the fault says the same of the cards."""
    found: list[AnyFinding] = []
    stand = {each.code for each in seen.faults}
    for each in seen.faults:
        if each.meaning is not None and each.code not in state.faults:
            state, more = fault(settings, state, FaultRaised(at=seen.at, frame=seen.frame, **asdict(each)))
            found += more
    return replace(state, faults=tuple([each for each in state.faults if each in stand])), tuple(found)
