"""The retained `state` message: enough for a late joiner to draw the table."""

from collections.abc import Mapping

import msgspec

from tests.oracle.engine_5.events import Hand, Paid, Result
from tests.oracle.engine_5.now import rfc3339
from tests.oracle.engine_5.rules.drawing import Hands
from tests.oracle.engine_5.rules.insurance import CARDS_AT, offers, waived
from tests.oracle.engine_5.rules.load import book
from tests.oracle.engine_5.table.context import both, pays_of
from tests.oracle.engine_5.table.judging import House, house_of, judge, shown
from tests.oracle.engine_5.table.state import Comparison, Completed, Condition, Fault, Link, Phase, TableState


class PublicHands(msgspec.Struct, frozen=True):
    player: Hand
    banker: Hand


class LastRound(msgspec.Struct, frozen=True):
    """The last completed round, and what the shoe's result made of it."""

    shoe: int
    round: int
    hands: PublicHands
    result: Result
    integrity: str
    answer: Comparison
    void: bool = False
    pays: Mapping[str, Paid] = {}


class Offered(msgspec.Struct, frozen=True):
    """One insurance bet on offer: its odds and its clause."""

    bet: str
    odds: str
    clause: str


class PublicDevice(msgspec.Struct, frozen=True):
    """How a device is, and its line."""

    link: Link
    reason: str | None
    heard_at: str | None
    fault: Fault | None
    locked: bool


class PublicState(msgspec.Struct, frozen=True):
    """`device` is the shoe; `shuffler` is null where the table has none, or nothing is known of its line yet."""

    sequence: str  # of the last event that is included
    phase: Phase
    game: str
    shoe: int | None
    shoe_integrity: str
    round: int | None
    hands: PublicHands
    last_round: LastRound | None
    device: PublicDevice
    insurance: tuple[Offered, ...] = ()
    shuffler: PublicDevice | None = None


def public_state(game: str, state: TableState, *, insurance: bool = True) -> PublicState:
    last = state.last
    house = house_of(game, state, insurance=insurance)
    found = judge(house, state.round)
    hands = shown(house, state.round, found)
    return PublicState(
        sequence=str(state.sequence),
        phase=state.phase,
        game=game,
        shoe=state.shoe or None,
        shoe_integrity=state.shoe_integrity,
        round=state.round.number or None,
        hands=PublicHands(*both(book(game), hands)),
        last_round=None if last is None else last_round(last),
        device=public_device(state.device),
        insurance=on_offer(house, state, found.course.hands),
        shuffler=None if state.shuffler is None else public_device(state.shuffler),
    )


def public_device(condition: Condition) -> PublicDevice:
    return PublicDevice(
        link=condition.link or Link.OFFLINE,
        reason=condition.reason or None,
        heard_at=None if condition.heard_utc_us is None else rfc3339(condition.heard_utc_us),
        fault=condition.fault,
        locked=condition.locked,
    )


def on_offer(house: House, state: TableState, hands: Hands) -> tuple[Offered, ...]:
    """What may be insured before the next card (I 3.12)."""
    stage = next((stage for stage, drawn in CARDS_AT.items() if drawn == len(hands)), None)
    ended = stage in waived(house.book, squeeze=state.round.squeeze)
    if stage is None or ended or state.phase is not Phase.DEALING or not house.insurance:
        return ()
    return tuple(Offered(each.bet, each.odds.text, each.clause) for each in offers(house.book, hands)[stage] or ())


def last_round(last: Completed) -> LastRound:
    told = last.told
    return LastRound(
        shoe=told.shoe,
        round=told.round,
        hands=PublicHands(told.player, told.banker),
        result=last.ours,
        integrity=told.integrity,
        answer=last.answer,
        void=last.void,
        pays=pays_of(told),
    )
