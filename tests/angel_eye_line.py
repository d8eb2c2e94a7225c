"""Angel Eye frames from the protocol page alone, and a host's session that receives them: for several tests."""

from collections.abc import Sequence
from functools import reduce
from itertools import pairwise
from operator import xor
from random import Random
from typing import Final

from firmware_protocols.angel_eye import AngelEyeSettings
from shoed.engine import ENGINE
from shoed.model.cards import Card
from shoed.model.irregularities import OverdrawnCard
from shoed.model.moments import Now
from shoed.model.observations import AnyObservation, Outcome, Pair, Side
from shoed.model.step import (
    AnyInput,
    Configured,
    DeviceOrder,
    DeviceOrderKind,
    LinkDown,
    LinkUp,
    Ordered,
    Received,
    Woken,
)
from shoed.session import SessionOutput
from shoed.session.angel_eye import AngelEyeSession
from tests.listener import expected_result, next_hand

MS: Final = 1_000_000
START: Final = Now(1_700_000_000_000_000, 3_600_000 * MS)
PORT: Final = "tcp://127.0.0.1:4001"
CONFIGURED: Final = Configured("{}", ENGINE, "0.0")

# The frames of the protocol page, byte by byte.
CARD: Final = bytes.fromhex("05 31 44 81 B8 03 34 46")  # 1: Player's first, the eight of spades
RESULT: Final = bytes.fromhex("05 32 47 91 03 45 37")  # 2: Player wins, with a Player pair
CUT: Final = bytes.fromhex("05 33 43 03 37 33")  # 3: the cut card
ERROR: Final = bytes.fromhex("05 34 45 C1 03 42 33")  # 4: error 1, in error mode
START_1: Final = bytes.fromhex("05 31 53 03 36 31")  # 1: start of communication
ACK: Final = b"\x06"

SUIT_BITS: Final = {"D": 0x10, "C": 0x20, "S": 0x30, "H": 0x40}
RANK_BITS: Final = {text: bits for bits, text in enumerate([*"A23456789", "10", *"JQK"], start=1)}
TARGET_BITS: Final = {"P": 0x00, "B": 0x10}
OUTCOME_BITS: Final = {Outcome.PLAYER: 0x10, Outcome.TIE: 0x20, Outcome.BANKER: 0x40}


def report(sequence: str, command: str, *data: int) -> bytes:
    """Return one copy of a report; the data bytes are parameters without bit 7, as on the page."""
    body = (sequence + command).encode() + bytes(0x80 | each for each in data) + b"\x03"
    return b"\x05" + body + b"%02X" % reduce(xor, body)


def card_report(sequence: str, place: str, face: str) -> bytes:
    """Return the report of a card in a slot `P1` to `B3`."""
    return report(sequence, "D", TARGET_BITS[place[0]] | int(place[1]), SUIT_BITS[face[-1]] | RANK_BITS[face[:-1]])


def at(ms: float) -> Now:
    return Now(START.utc_us + round(ms * 1000), START.mono_ns + round(ms * MS))


def kinds(seen: Sequence[AnyObservation]) -> list[type[AnyObservation]]:
    return [type(each) for each in seen]


class Host:
    """A session and its clock, in milliseconds since the start."""

    def __init__(self, *, allow_orders: bool = False, **settings: int) -> None:
        self.session = AngelEyeSession(AngelEyeSettings(**settings), allow_orders=allow_orders)  # type: ignore[arg-type]
        self.state = self.session.begin()
        self.ms = 0.0

    def take(self, incoming: AnyInput, ms: float | None = None) -> SessionOutput:
        self.ms = self.ms if ms is None else ms
        self.state, heard = self.session.step(self.state, incoming, at(self.ms))
        return heard

    def up(self, ms: float | None = None) -> list[AnyObservation]:
        return list(self.take(LinkUp(PORT), ms).observations)

    def down(self, ms: float | None = None, reason: str = "the cable is disconnected") -> list[AnyObservation]:
        return list(self.take(LinkDown(reason), ms).observations)

    def hear(self, data: bytes, ms: float | None = None) -> list[AnyObservation]:
        return list(self.take(Received(data), ms).observations)

    def wake(self, ms: float | None = None) -> list[AnyObservation]:
        return list(self.take(Woken(), ms).observations)

    def order(self, kind: DeviceOrderKind, card: OverdrawnCard | None = None, ms: float | None = None) -> SessionOutput:
        return self.take(Ordered(DeviceOrder(kind, card=card)), ms)

    @property
    def wake_ms(self) -> float | None:
        moment = self.session.wake_at(self.state)
        return None if moment is None else (moment - START.mono_ns) / MS


def connected(*heard: bytes) -> Host:
    """Return a host whose link opened at 0 and that received these bytes, ten seconds apart, until now."""
    host = Host()
    host.up()
    for data in heard:
        host.hear(data, host.ms + 10_000)
    return host


class Reporter:
    """A shoe that numbers its reports and sends each three times."""

    def __init__(self) -> None:
        self.sequence = 0

    def say(self, command: str, *data: int) -> bytes:
        self.sequence = self.sequence % 9 + 1
        return report(str(self.sequence), command, *data) * 3

    def card(self, place: str, face: str) -> bytes:
        return self.say("D", TARGET_BITS[place[0]] | int(place[1]), SUIT_BITS[face[-1]] | RANK_BITS[face[:-1]])

    def round(self, dice: Random) -> list[bytes]:
        """Return the reports of one legal round, with its result."""
        hands: dict[Side, list[Card]] = {Side.PLAYER: [], Side.BANKER: []}
        reports = []
        while (hand := next_hand(hands[Side.PLAYER], hands[Side.BANKER])) is not None:
            hands[hand].append(dice.choice(list(Card)))
            reports.append(self.card(f"{hand.value[0].upper()}{len(hands[hand])}", str(hands[hand][-1])))
        outcome, pairs = expected_result(hands[Side.PLAYER], hands[Side.BANKER])
        bits = OUTCOME_BITS[outcome] | (Pair.PLAYER in pairs) | (Pair.BANKER in pairs) << 1
        return [*reports, self.say("G", bits)]


Inputs = list[tuple[AnyInput, Now]]


def cut_anyhow(data: bytes, ms: float, dice: Random) -> Inputs:
    places = sorted(dice.sample(range(len(data)), 3))
    return [(Received(data[start:end]), at(ms)) for start, end in pairwise([0, *places, len(data)])]


def damaged(data: bytes, ms: float, dice: Random) -> Inputs:
    rest = dice.randbytes(3) + data[: dice.randrange(len(data))]
    return [(Received(rest), at(ms)), (Woken(), at(ms + 500))]


def lost(_: bytes, __: float, ___: Random) -> Inputs:
    return []


def link_away(data: bytes, ms: float, _: Random) -> Inputs:
    gone: Inputs = [
        (Received(data[:5]), at(ms)),
        (LinkDown("the cable is disconnected"), at(ms + 1)),
        (LinkDown("busy"), at(ms + 2)),
    ]
    return [*gone, (LinkUp(PORT), at(ms + 3))]


def killed(data: bytes, ms: float, _: Random) -> Inputs:
    return [(CONFIGURED, at(ms)), (LinkUp(PORT), at(ms + 1)), (Received(data), at(ms + 2))]


def idle(data: bytes, ms: float, _: Random) -> Inputs:
    return [(Woken(), at(ms + 301_000)), (Received(data), at(ms + 301_001))]


def ordered(data: bytes, ms: float, _: Random) -> Inputs:
    return [(Ordered(DeviceOrder(DeviceOrderKind.LOCK)), at(ms)), (Received(b"\x06" + data), at(ms + 40))]


HAPPENINGS: Final = {cut_anyhow: 24, damaged: 5, lost: 3, link_away: 5, killed: 3, idle: 2, ordered: 3}


def traffic(seed: int, rounds: int = 8) -> Inputs:
    """Return the inputs of a few rounds: reports in any chunks, noise, losses, restarts, wakings, orders."""
    dice, shoe = Random(seed), Reporter()
    incoming: Inputs = [(CONFIGURED, at(0)), (LinkUp(PORT), at(1))]
    ms = 1.0
    for _ in range(rounds):
        sent = [shoe.say("C"), shoe.say("S")] if dice.random() < 0.3 else []
        for data in [*sent, *shoe.round(dice)]:
            ms += dice.choice((200.0, 600.0, 3000.0))
            if dice.random() < 0.5:
                incoming.append((Received(data), at(ms)))
            else:
                (happening,) = dice.choices(list(HAPPENINGS), list(HAPPENINGS.values()))
                incoming += happening(data, ms, dice)
            ms = max(ms, (incoming[-1][1].mono_ns - START.mono_ns) / MS) + 20
            if dice.random() < 0.2:
                incoming.append((Woken(), at(ms)))
    return incoming
