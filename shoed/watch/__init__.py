"""The watch makes findings from the observations, with their evidence.

Theory of operation: the watch is a fold over observations. It does not decide the consequence of a finding for the
round. A finding is recorded with its Step. If a change of shoe may have been missed, the counts of the shoe restart,
because a count that is too low causes no false alarm.
"""

from typing import Final

import msgspec
from msgspec.structs import asdict, replace

from shoed.model.findings import AnyFinding, OrderAltered, OtherSet, ShuffleFailed, Unread
from shoed.model.moments import Now
from shoed.model.observations import (
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
    SetDeliverySeen,
    ShoeEmptySeen,
    ShoeLoaded,
    ShuffleEnded,
)
from shoed.watch import counts, order, sets, shuffle, spacing
from shoed.watch.counts import FACES, Counts, FacesKnown
from shoed.watch.order import ExpectedOrder
from shoed.watch.sets import KnownSets
from shoed.watch.settings import WatchSettings
from shoed.watch.shuffle import Shuffle
from shoed.watch.spacing import Spacing

__all__ = [
    "Counts",
    "ExpectedOrder",
    "FacesKnown",
    "KnownSets",
    "WatchSettings",
    "WatchState",
    "emptied",
    "new_shoe",
    "watch",
]

UNREAD: Final = {FaultMeaning.UNREAD, FaultMeaning.BAD_CODE}


class WatchState(msgspec.Struct, frozen=True, omit_defaults=True):
    spacing: Spacing = Spacing()
    counts: Counts = Counts()
    order: ExpectedOrder = ExpectedOrder()
    sets: KnownSets = KnownSets()
    shuffle: Shuffle = Shuffle()
    missed: bool = False  # reports of this shoe were missed: the cards dealt so far are unknown
    away: bool = False  # the link closed, and no report proved since then that none was missed
    cut: bool = False  # the cut card of this shoe was drawn
    faults: tuple[int, ...] = ()  # codes of the active faults that concern the cards


def watch(  # noqa: C901, PLR0912 -- one case for each observation
    settings: WatchSettings, state: WatchState, seen: AnyObservation | FacesKnown
) -> tuple[WatchState, tuple[AnyFinding, ...]]:
    """Process one observation, or a person's correction, and return the findings."""
    match seen:
        case FacesKnown():
            counted, wrong = counts.known(settings.decks, state.sets.dealt, state.counts, seen)
            return replace(state, counts=counted), tuple(wrong)
        case SetDeliverySeen():
            return delivered(settings, state, seen)
        case ShuffleEnded(failed=reason, set_id=set_id) if reason:
            return state, (ShuffleFailed(at=seen.at, reason=reason, set_id=set_id),)
        case _ if seen.device is Device.SHUFFLER:
            return state, ()  # the line and the faults of a shuffler do not concern the cards
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
        case ShoeEmptySeen():
            return state, emptied(settings, state, seen.at)
        case ShoeLoaded(set_id=set_id):
            return loaded(state, seen.at, set_id)
        case CommunicationStarted() if state.cut:
            return loaded(state, seen.at, "")
        case _:
            return state, ()


def begun(state: WatchState) -> bool:
    """Whether cards of this shoe were drawn, or may have been drawn."""
    return state.missed or state.counts.cards > 0


def delivered(
    settings: WatchSettings, state: WatchState, seen: SetDeliverySeen
) -> tuple[WatchState, tuple[AnyFinding, ...]]:
    after = sets.delivered(state.sets, seen, begun=begun(state), cut=state.cut)
    coming = after.dealt is state.sets.dealt
    wrong = counts.delivered(settings.decks, seen, coming=coming)
    if not coming:  # the shoe already deals this set: find the place of the dealt cards in the order
        letters = sets.letters(seen.order)
        state = replace(state, order=ExpectedOrder(letters, state.counts.cards, lost=begun(state) and letters != ""))
    return replace(state, sets=after), () if wrong is None else (wrong,)


def loaded(state: WatchState, at: Now, set_id: str) -> tuple[WatchState, tuple[AnyFinding, ...]]:
    """Begin another shoe. Find a loaded set that is not the delivered set."""
    state, due = next_set(state, set_id)
    return state, () if due is None else (OtherSet(at=at, delivered=due, loaded=set_id),)


def next_set(state: WatchState, set_id: str) -> tuple[WatchState, str | None]:
    """Restart the counts for the next set. The second value is the id of the expected set, if another was loaded."""
    was_begun = begun(state)
    after, due = sets.loaded(state.sets, set_id, begun=was_begun)
    ordered = state.order if after.dealt is not None and not was_begun else ExpectedOrder()
    return replace(state, counts=Counts(), shuffle=Shuffle(), order=ordered, sets=after), due


def missed(state: WatchState) -> WatchState:
    """Handle missed reports. A change of shoe may be among them."""
    return replace(state, counts=Counts(), shuffle=Shuffle(), order=order.lose(state.order), away=False, missed=True)


def new_shoe(state: WatchState, *, announced: bool, whole: bool) -> WatchState:
    """Begin a shoe.

    `announced`: a command announced the shoe; otherwise its cards are counted since it reported its start.
    `whole`: no report of the shoe was missed.
    """
    if announced:
        state, _ = next_set(state, "")
    after, letters = sets.new_shoe(state.sets)
    if letters is not None:
        state = replace(state, order=ExpectedOrder(letters, state.counts.cards))
    return replace(state, counts=replace(state.counts, whole=whole), sets=after, cut=False, missed=False)


def emptied(settings: WatchSettings, state: WatchState, at: Now) -> tuple[AnyFinding, ...]:
    """Compare the cards of an empty shoe with the set, unless reports may have been missed."""
    wrong = None if state.away else counts.emptied(settings.decks, state.sets.dealt, state.counts, at)
    return () if wrong is None else (wrong,)


def card(settings: WatchSettings, state: WatchState, seen: CardSeen) -> tuple[WatchState, tuple[AnyFinding, ...]]:
    if state.away:
        state = missed(state)
    spaced, together = spacing.card(settings, state.spacing, seen)
    state = replace(state, spacing=spaced)
    found: list[AnyFinding] = [] if together is None else [together]
    if seen.card is None:
        evidence = f"the shoe reported a card with the code {seen.code}, which is not the code of a card"
        found.append(Unread(at=seen.at, meaning=None, code=seen.code, evidence=evidence))
    if seen.place is Place.SET_UP:  # test cards
        return state, tuple(found)
    if counts.reported_twice(state.counts, seen):
        return replace(state, counts=counts.doubted(state.counts)), tuple(found)
    before, after = state.counts, state.shuffle
    if (
        seen.card is not None and before.last is not None and seen.place is not Place.OVERDRAW
    ):  # an overdrawn card is reported late
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
    report = f"the device reported fault {seen.code}, {seen.name}"
    if seen.meaning in UNREAD:
        found.append(Unread(at=seen.at, meaning=seen.meaning, code="", evidence=report))
        state = replace(state, counts=counts.doubted(state.counts), order=order.lose(state.order))
    elif seen.meaning is FaultMeaning.REVERSED:
        evidence = f"{report}: a card ran backwards"
        found.append(OrderAltered(at=seen.at, card=None, expected=None, evidence=evidence))
    return state, tuple(found)


def status(settings: WatchSettings, state: WatchState, seen: DeviceStatus) -> tuple[WatchState, tuple[AnyFinding, ...]]:
    """Handle the active faults of a status as reported faults, because the report of such a fault may be missing."""
    found: list[AnyFinding] = []
    active = {each.code for each in seen.faults}
    for each in seen.faults:
        if each.meaning is not None and each.code not in state.faults:
            state, findings = fault(settings, state, FaultRaised(at=seen.at, frame=seen.frame, **asdict(each)))
            found += findings
    return replace(state, faults=tuple([each for each in state.faults if each in active])), tuple(found)
