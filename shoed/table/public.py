"""The retained `state` message: enough for a late joiner to draw the table."""

import msgspec

from shoed.events import Hand, Result
from shoed.now import rfc3339
from shoed.rules.load import book
from shoed.table.machine import both
from shoed.table.state import Answer, Completed, Fault, Link, Phase, TableState


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
    answer: Answer


class PublicDevice(msgspec.Struct, frozen=True):
    link: Link
    reason: str | None
    heard_at: str | None
    fault: Fault | None
    locked: bool


class PublicState(msgspec.Struct, frozen=True):
    sequence: str  # of the last event that is included
    phase: Phase
    game: str
    shoe: int | None
    shoe_integrity: str
    round: int | None
    hands: PublicHands
    last_round: LastRound | None
    device: PublicDevice


def public_state(game: str, state: TableState) -> PublicState:
    device, hands, last = state.device, state.round.hands, state.last
    return PublicState(
        sequence=str(state.sequence),
        phase=state.phase,
        game=game,
        shoe=state.shoe or None,
        shoe_integrity=state.shoe_integrity,
        round=state.round.number or None,
        hands=PublicHands(*both(book(game), hands)),
        last_round=None if last is None else last_round(last),
        device=PublicDevice(
            link=device.link or Link.OFFLINE,
            reason=device.reason or None,
            heard_at=None if device.heard_utc_us is None else rfc3339(device.heard_utc_us),
            fault=device.fault,
            locked=device.locked,
        ),
    )


def last_round(last: Completed) -> LastRound:
    told = last.told
    return LastRound(
        shoe=told.shoe,
        round=told.round,
        hands=PublicHands(told.player, told.banker),
        result=last.ours,
        integrity=told.integrity,
        answer=last.answer,
    )
