"""A virtual shoe, and a hand of the window model that draws its cards: for the random sessions.

Theory of operation: the model computes when cards pass the window, and the reports of a reader. The virtual device
makes its reports from them, on a clock that is faster by the scale of its family. A round has cards until the shoe
shows a result, or, for a family that names no hand, until the Table of Play needs no other card. A seed decides all.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from random import Random
from typing import Final

from firmware_protocols import angel_eye
from firmware_protocols.angel_eye import AngelEyeSettings
from firmware_protocols.bee_tek import BeeTekSettings
from firmware_protocols.open_shoe import OpenShoeSettings
from firmware_protocols.open_shoe import messages as open_shoe
from shoed.model.cards import Card
from shoed.model.observations import FaultMeaning
from shoed.ports.address import TcpAddress
from shoed.ports.clock import now
from shoed.rig.angel_eye import CODES, AngelEyeDevice
from shoed.rig.device import Action, Burn, Cut, Deal, DeviceOutput, FaultAction, Load, RigDevice
from shoed.rig.one_way import BeeTekDevice
from shoed.rig.open_shoe import FACE_OF, VirtualOpenShoe
from shoed.rig.outlets import PtyOutlet, TcpOutlet
from shoed.rig.shuffling import cut, new_decks, riffled
from shoed.rig.virtual import VirtualDevice
from shoed.rig.window import DealerHand, EdgeReader, Physics, ReaderReport, SerialReader
from shoed.rules import drawing
from shoed.rules.drawing import Hands
from shoed.rules.load import book
from shoed.session.angel_eye_shoe import FACES, UNNUMBERED

SCALES: Final = {"angel-eye": 0.1, "bee-tek": 0.1, "open-shoe": 0.2}  # the factor of every pause
PHYSICS: Final = Physics(unread_share=0.01)
TOGETHER: Final = 0.08  # the share of the draws
INTERRUPTED: Final = 0.3  # the share of the shuffles
MOST_DRAWS: Final = 8  # in one round
UNREAD_S: Final = 0.3  # within this time, two unread cards of a Bee-Tek are one
BOOK: Final = book("commission")  # all games have the same draws
MAKE: Final[Mapping[str, Callable[[], RigDevice]]] = {
    "angel-eye": lambda: AngelEyeDevice(AngelEyeSettings()),
    "bee-tek": lambda: BeeTekDevice(BeeTekSettings(copies=1)),
    "open-shoe": lambda: VirtualOpenShoe(OpenShoeSettings()),
}
IN_ERROR: Final = {"angel-eye": "cannot-read", "open-shoe": "jam"}
NAMES: Final = {
    FaultMeaning.UNREAD: "cannot-read",
    FaultMeaning.BAD_CODE: "card-code",
    FaultMeaning.SLOW: "draw-timed-out",
}


class Shoe:
    """The virtual shoe, the hand in front of it, and the faces that it reported."""

    def __init__(self, family: str, dice: Random, place: str | None) -> None:
        self.family = family
        self.dice = dice
        self.device = MAKE[family]()
        self.virtual = VirtualDevice(self.device, None, fast=False, waits=False)
        self.outlet: PtyOutlet | TcpOutlet = (
            TcpOutlet(TcpAddress("127.0.0.1", 0), self.virtual.heard, patient=False)
            if place is None
            else PtyOutlet(place, self.virtual.heard)
        )
        self.scale = SCALES[family]
        self.reader = EdgeReader(PHYSICS, dice) if family == "open-shoe" else SerialReader(PHYSICS, dice)
        self.set: list[Card] = []
        self.hands = Hands()  # of the present round, from the cards that left the shoe
        self.reported: list[str | None] = []
        self.counts: Counter[str] = Counter()

    async def begin(self) -> None:
        await self.outlet.connected.wait()
        self.greet()
        self.shuffle()
        if self.family == "angel-eye":
            await self.say(0.1, angel_eye.StartOfCommunication(UNNUMBERED))

    def shuffle(self) -> None:
        """A new set; some shuffles are interrupted."""
        interrupted = self.dice.random() < INTERRUPTED
        self.counts["interrupted shuffles"] += interrupted
        self.set = new_decks(8)
        if interrupted:
            self.set = riffled(self.set, self.dice)
        else:
            self.dice.shuffle(self.set)
        self.set = cut(self.set, self.dice)

    async def say(self, pause_s: float, report: object, face: Card | None = None) -> None:
        """One report, after a pause on the clock of the model."""
        if hasattr(report, "card"):
            self.reported.append(None if face is None else str(face))
        await self.virtual.play(iter([DeviceOutput(pause_s * self.scale, report)]), self.outlet)

    async def do(self, pause_s: float, deed: Action, face: Card | None = None) -> None:
        for output in self.device.perform(deed):
            await self.say(pause_s + output.pause_s, output.report, face)
            pause_s = 0.0

    async def new_set(self) -> None:
        await self.do(0.5, Cut())
        await self.do(1.0, Load(""))
        self.shuffle()

    def new_round(self) -> None:
        self.hands = Hands()
        if isinstance(self.device, AngelEyeDevice):
            self.device.hands = Hands()

    @property
    def complete(self) -> bool:
        """An Angel Eye shows a result; with any other shoe, the dealer applies the Table of Play."""
        if isinstance(self.device, AngelEyeDevice):
            return self.device.complete
        return drawing.due(BOOK, self.hands) is None

    def draws(self) -> Iterator[tuple[float, ReaderReport, list[Card]]]:
        """The reports of the next draws: the pause before, the report of the reader, and the cards of the draw."""
        hand = DealerHand(PHYSICS, self.dice)
        draws = [hand.draw(together=self.dice.random() < TOGETHER) for _ in range(MOST_DRAWS)]
        before, drawn = 0.0, [list[Card]() for _ in draws]
        for reading in self.reader.reports(draws):
            if not drawn[reading.draw]:
                if self.complete:
                    return
                drawn[reading.draw] = [self.draw() for _ in draws[reading.draw].passages]
                self.counts["double draws"] += len(drawn[reading.draw]) > 1
            yield max(reading.at_s - before, 0.0), reading, drawn[reading.draw]
            before = reading.at_s

    def draw(self) -> Card:
        card = self.set.pop()
        hand = drawing.due(BOOK, self.hands)
        self.hands = self.hands if hand is None else self.hands.with_card(hand, card)
        return card

    async def passes(self, pause_s: float, reading: ReaderReport, cards: list[Card]) -> None:
        """One report of the reader; at random a card is burnt, in error or in a slot that is not due."""
        card, trouble = None if reading.card is None else cards[reading.card], self.dice.random()
        if reading.fault is not None and self.family == "bee-tek":
            self.reported.append(None)  # a card without a face
            await self.do(max(pause_s, UNREAD_S), FaultAction("not-read", raised=True))
        elif reading.fault is not None:
            await self.do(pause_s, FaultAction(NAMES[reading.fault], raised=True))
            await self.do(0, FaultAction(NAMES[reading.fault], raised=False))
        elif card is not None and trouble < 0.01:
            await self.do(pause_s, Burn((card,), 0), card)
        elif card is not None and trouble < 0.02 and self.family in IN_ERROR:
            await self.do(pause_s, FaultAction(IN_ERROR[self.family], raised=True))
            await self.do(0.1, Deal((card,), 0), card)
            await self.do(0, FaultAction(IN_ERROR[self.family], raised=False))
        elif card is not None and trouble < 0.03 and self.family == "angel-eye":  # a slot that is not due
            slot = angel_eye.CardInGame(UNNUMBERED, angel_eye.Target.PLAYER, 3, FACES[card])
            await self.say(pause_s, slot, card)
        elif reading.edges is not None:
            passage_us = int((reading.edges.trailing_s - reading.edges.leading_s) * self.scale * 1e6)
            odd = open_shoe.OpenShoePassage.DOUBLE if reading.double else open_shoe.OpenShoePassage.CLEAN
            face = None if card is None else FACE_OF[card]
            await self.say(
                pause_s, open_shoe.OpenShoeCard(face, open_shoe.OpenShoePlace.DEALT, 0, passage_us, odd), card
            )
        elif card is not None:
            await self.do(pause_s, Deal((card,), 0), card)

    async def pull(self) -> None:
        """The cable is out. An Angel Eye may report a card meanwhile, which is lost."""
        await self.outlet.pull()
        if self.family == "angel-eye" and self.dice.random() < 0.5:
            for output in self.device.perform(Deal((self.draw(),), 0)):
                self.device.say(output.report, now())
        self.counts["cables out"] += 1

    def greet(self) -> None:
        """A host has connected."""
        self.virtual.transmitter.send(self.device.opened(now()))
        self.virtual.follow()

    async def overdraw(self) -> None:
        """One surplus card: the shoe reports it after the error is cleared."""
        card, code = self.set.pop(), CODES["overdraw"]
        await self.say(0.7, angel_eye.ErrorRaised(UNNUMBERED, in_error_mode=True, code=code))
        await self.say(1.0, angel_eye.ErrorCleared(UNNUMBERED, code))
        side = self.dice.choice((angel_eye.Target.PLAYER, angel_eye.Target.BANKER))
        await self.say(0.1, angel_eye.OverdrawCard(UNNUMBERED, side, 3, FACES[card]), card)
