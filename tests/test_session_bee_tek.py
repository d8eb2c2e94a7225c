"""The host's session of a Bee-Tek shoe: the meaning of each line, and repeated lines."""

from random import Random
from typing import Final

import pytest

from firmware_protocols.bee_tek import BeeTekSettings, ManualBurn
from shoed.model.cards import Card
from shoed.model.commands import Author, StartShoe
from shoed.model.observations import (
    AnsweredBy,
    AnyObservation,
    CardSeen,
    CopyHeard,
    Evidence,
    FaultRaised,
    FrameRejected,
    HeardAgain,
    LinkClosed,
    OrderAnswered,
    Place,
    Resumed,
    WentQuiet,
)
from shoed.model.step import Commanded, Configured, DeviceOrder, DeviceOrderKind, LinkDown, LinkUp, Ordered
from shoed.session.bee_tek import BeeTekSession, BeeTekState
from tests.angel_eye_line import at, kinds
from tests.listening import Listening

PORT: Final = "serial:///dev/shoe"
CONFIGURED: Final = Configured("{}", 1, "0.0")
FOUR: Final = b"[Game]<Card:4S>\r\n"
NINE: Final = b"[Game]<Card:9H>\r\n"


class Host(Listening[BeeTekState]):
    def __init__(self, manual_burn: ManualBurn = ManualBurn.BURNT, **settings: int) -> None:
        super().__init__(BeeTekSession(BeeTekSettings(manual_burn=manual_burn, **settings), allow_orders=True), PORT)


# --- the meaning of each line


def saw_card(data: bytes, place: Place, card: Card | None, code: str = "") -> CardSeen:
    return CardSeen(at=at(5), frame=Evidence(data.hex(" "), 0, ""), place=place, position=0, card=card, code=code)


@pytest.mark.parametrize(
    ("text", "place", "card", "code"),
    [
        ("[Game]<Card:4S>", Place.DEALT, Card.S4, ""),
        ("[Game]<Card:TH>", Place.DEALT, Card.H10, ""),
        ("[Game]<Card:10D>", Place.DEALT, Card.D10, ""),
        ("[Game]<Card:AC>", Place.DEALT, Card.CA, ""),
        ("[Game]<Card:1X>", Place.DEALT, None, "1X"),
        ("[Manual Burn Cards]<Card:KC>", Place.BURN, Card.CK, ""),
        ("[Manual Burn Cards]<Card:??>", Place.BURN, None, "??"),
        (" [Game]<Card:4S> ", Place.DEALT, Card.S4, ""),
        (" [Manual Burn Cards]<Card:KC> ", Place.BURN, Card.CK, ""),
    ],
)
def test_a_card_is_dealt_or_burnt(text: str, place: Place, card: Card | None, code: str) -> None:
    """The shoe does not report the hand; text that names no card is a card without a face, with that text."""
    data = f"{text}\r\n".encode()
    assert Host().hear(data, 5) == [saw_card(data, place, card, code)]


@pytest.mark.parametrize(
    ("text", "code", "name", "unread"),
    [
        ("[Game]<Game>", 0, "failed read", True),
        ("[Game]<Alarm:E3 Card Not Read>", 3, "E3 Card Not Read", True),
        ("[GameAlarm]<Alarm:E3 Card Not Read>", 3, "E3 Card Not Read", True),
        ("[GameAlarm]<Alarm:E7>", 7, "E7", False),
        ("[GameAlarm]<Alarm:Door Open>", 0, "Door Open", False),
        ("<W0x03>", 3, "W0x03", False),
    ],
)
def test_alarms_and_warnings_are_faults(text: str, code: int, name: str, unread: bool) -> None:  # noqa: FBT001 -- a table
    """The fault has the text of the line; a failed read and the alarm E3 also mean an unread card."""
    data = f"{text}\r\n".encode()
    frame = Evidence(data.hex(" "), 0, "")
    fault = FaultRaised(at=at(5), frame=frame, code=code, name=name, blocking=False)
    card = CardSeen(at=at(5), frame=frame, place=Place.DEALT, position=0, card=None)
    assert Host().hear(data, 5) == [fault, *([card] if unread else [])]


@pytest.mark.parametrize(("setting", "place"), [(ManualBurn.BURNT, Place.BURN), (ManualBurn.DEALT, Place.DEALT)])
def test_a_setting_decides_the_meaning_of_manual_burn_cards(setting: ManualBurn, place: Place) -> None:
    """Read or unread, they are burnt, or dealt in the slot that is due; the alarm of an unread card is also a fault."""
    seen = Host(setting).hear(b" [Manual Burn Cards]<Card:KC> \r\n", 5)
    assert [(each.place, each.card) for each in seen if isinstance(each, CardSeen)] == [(place, Card.CK)]
    for text in (b"<Game>", b"<Alarm:E3 Card Not Read>"):
        fault, card = Host(setting).hear(b"[Manual Burn Cards]" + text + b"\r\n", 5)
        assert isinstance(fault, FaultRaised)
        assert isinstance(card, CardSeen)
        assert (card.place, card.card) == (place, None)
    assert kinds(Host(setting).hear(b"[Manual Burn Cards]<Alarm:Jam>\r\n", 5)) == [FaultRaised]


def test_a_card_dealt_in_that_mode_may_be_repeated() -> None:
    """It is repeated as in the game; a burnt card is reported once."""
    data = b"[Manual Burn Cards]<Card:4S>\r\n"
    host = Host(ManualBurn.DEALT)
    assert kinds(host.hear(data, 1000) + host.hear(data, 1020) + host.hear(data, 1300)) == [
        CardSeen,
        CopyHeard,
        CardSeen,
    ]


def test_blanks_do_not_make_a_second_card() -> None:
    """The shoe may repeat the card text with or without blanks around it."""
    host = Host()
    assert kinds(host.hear(b" [Game]<Card:4S> \r\n", 1000) + host.hear(FOUR, 1020)) == [CardSeen, CopyHeard]


@pytest.mark.parametrize(("after_ms", "cards"), [(0, 1), (199, 1), (200, 2)])
def test_a_failed_read_and_its_alarm_are_one_card(after_ms: int, cards: int) -> None:
    """The order does not matter; after the window it is another card, and a person may answer that no card passed."""
    host = Host()
    seen = host.hear(b"[Game]<Game>\r\n", 1000) + host.hear(b"[Game]<Alarm:E3 Card Not Read>\r\n", 1000 + after_ms)
    assert kinds(seen).count(CardSeen) == cards
    assert kinds(seen).count(FaultRaised) == 2


def test_an_unknown_line_is_recorded_whole() -> None:
    """Nothing is dropped, and the next card is read."""
    unknown = b"[Result]<Banker>\r\n"
    rejected, card = Host().hear(unknown + FOUR, 5)
    assert isinstance(rejected, FrameRejected)
    assert (rejected.raw, rejected.offset, rejected.reason) == (unknown.hex(" "), 0, "unknown-command")
    assert isinstance(card, CardSeen)


# --- repeated lines


@pytest.mark.parametrize(("after_ms", "again"), [(0, CopyHeard), (18, CopyHeard), (199, CopyHeard), (200, CardSeen)])
def test_a_repeated_line_is_not_a_second_card(after_ms: int, again: type[AnyObservation]) -> None:
    """Within the window it is the same card; after the window a second card of the same face is not lost."""
    host = Host()
    assert kinds(host.hear(FOUR, 1000)) == [CardSeen]
    assert kinds(host.hear(FOUR, 1000 + after_ms)) == [again]


def test_equal_cards_at_the_speed_of_a_dealer_are_two() -> None:
    """Each of them may be repeated."""
    host = Host()
    seen = host.hear(FOUR, 1000) + host.hear(FOUR, 1040) + host.hear(FOUR, 1250) + host.hear(FOUR, 1290)
    assert kinds(seen) == [CardSeen, CopyHeard, CardSeen, CopyHeard]


def test_a_card_is_repeated_once() -> None:
    """A third line in the window is a separate card."""
    assert kinds(Host().hear(FOUR * 4, 1000)) == [CardSeen, CopyHeard, CardSeen, CopyHeard]


def test_if_the_shoe_repeats_no_card_every_line_is_a_card() -> None:
    """The setting `copies` is then 1."""
    assert kinds(Host(copies=1).hear(FOUR * 3, 1000)) == [CardSeen] * 3


def test_the_window_is_a_setting() -> None:
    """It suits a shoe that repeats a card later."""
    host = Host(repeat_window_ms=20)
    assert kinds(host.hear(FOUR, 1000) + host.hear(FOUR, 1021)) == [CardSeen, CardSeen]


@pytest.mark.parametrize("between", [NINE, b"[Game]<Game>\r\n", b"<W0x01>\r\n"])
def test_another_line_between_makes_it_another_card(between: bytes) -> None:
    """A repetition directly follows the first line."""
    seen = Host().hear(FOUR + between + FOUR, 1000)
    assert CopyHeard not in kinds(seen)
    assert isinstance(seen[-1], CardSeen)


@pytest.mark.parametrize("data", [b"[Manual Burn Cards]<Card:4S>\r\n", b"<W0x01>\r\n"])
def test_only_dealt_cards_are_repeated(data: bytes) -> None:
    """Two equal lines of any other kind are two reports."""
    (kind, other) = kinds(Host().hear(data * 2, 1000))
    assert kind is other is not CopyHeard


def test_a_clock_of_another_boot_makes_no_copy() -> None:
    """A moment before the last card proves that the machine restarted: the card is accepted."""
    host = Host()
    host.hear(FOUR, 1000)
    assert kinds(host.hear(FOUR, 900)) == [CardSeen]


# --- away, quiet, torn


def test_nothing_proves_what_was_missed_while_the_link_was_away() -> None:
    """The first line after the absence observes it, once."""
    host = Host()
    host.hear(FOUR, 1000)
    assert list(host.take(LinkDown("the cable is disconnected"), 2000).observations) == [
        LinkClosed(at=at(2000), reason="the cable is disconnected")
    ]
    host.take(LinkUp(PORT), 3000)
    resumed, card, nine = host.hear(FOUR + NINE, 4000)
    assert resumed == Resumed(at=at(4000), frame=Evidence(FOUR.hex(" "), 0, ""))
    assert kinds([card, nine]) == [CardSeen, CardSeen]


def test_a_link_that_fails_before_the_first_line_has_nothing_to_resume() -> None:
    """There is no card before the absence."""
    host = Host()
    for ms in (1000, 1500):
        assert kinds(host.take(LinkDown("busy"), ms).observations) == [LinkClosed]
    host.take(LinkUp(PORT), 2000)
    assert kinds(host.hear(FOUR, 3000)) == [CardSeen]


def test_a_restarted_daemon_closes_its_open_link() -> None:
    """The daemon ended without closing the link: pending bytes are given up, and the next line resumes."""
    host = Host()
    host.hear(FOUR + b"[Game", 1000)
    assert kinds(host.take(CONFIGURED, 9000).observations) == [FrameRejected, LinkClosed]
    assert kinds(host.take(CONFIGURED, 9001).observations) == []
    host.take(LinkUp(PORT), 9002)
    assert kinds(host.hear(NINE, 9100)) == [Resumed, CardSeen]


def test_bytes_of_a_closed_link_are_ignored() -> None:
    """The session names no moment."""
    host = Host()
    host.take(LinkDown("the cable is disconnected"), 1000)
    assert host.hear(FOUR, 1001) == []
    assert host.wake(400_000) == []
    assert host.wake_ms is None


def test_an_incomplete_line_is_given_up() -> None:
    """The session is woken after the silence of the setting."""
    host = Host()
    assert host.hear(FOUR[:9], 1000) == []
    assert host.wake_ms == 1500
    assert host.wake(1499) == []
    (torn,) = host.wake(1500)
    assert isinstance(torn, FrameRejected)
    assert (torn.raw, torn.reason) == (FOUR[:9].hex(" "), "torn")


def test_a_quiet_line_is_observed_once() -> None:
    """It is quiet after the silence of the setting; the next byte ends it."""
    host = Host()
    assert host.wake_ms == 300_000
    assert host.wake(300_000) == [WentQuiet(at=at(300_000), since=at(0))]
    assert host.session.wake_at(host.state) is None
    assert host.wake(900_000) == []
    assert kinds(host.hear(FOUR, 900_001)) == [HeardAgain, CardSeen]


def test_no_order_is_executed() -> None:
    """No order is known. Allowed or not, it is refused with that reason, and nothing is written."""
    heard = Host().take(Ordered(DeviceOrder(DeviceOrderKind.LOCK)), 1000)
    (answer,) = heard.observations
    assert answer == OrderAnswered(
        at=at(1000),
        order="lock",
        accepted=False,
        detail="a Bee-Tek shoe executes no orders; operate it by hand",
        answered_by=AnsweredBy.HOST,
    )


def test_a_command_to_the_table_does_not_concern_the_session() -> None:
    """There is no observation, and nothing changes."""
    host = Host()
    before = host.state
    assert kinds(host.take(Commanded(StartShoe(), Author("ann", None), "7f3a"), 1000).observations) == []
    assert host.state == before


@pytest.mark.parametrize("seed", range(20))
def test_no_card_is_lost_or_made_on_a_bad_line(seed: int) -> None:
    """The cards have a dealer's speed, one or two lines, and any chunks, with unknown lines and noise among them."""
    dice = Random(seed)
    host, dealt, seen, ms = Host(), list[Card](), list[AnyObservation](), 0.0
    for _ in range(100):
        ms += dice.choice((250, 300, 2000))
        dealt.append(dice.choice((Card.S4, Card.H9)))  # equal cards often follow each other
        data = f"[Game]<Card:{dealt[-1]}>\r\n".encode()
        noise = dice.choice((b"", b"", b"[Result]<Tie>\r\n", b"\xff\x00", b"[Game]<\x00\n"))
        for pause, piece in ((0, noise + data), *([(dice.randrange(150), data)] if dice.random() < 0.5 else [])):
            cut = dice.randrange(len(piece))
            seen += host.hear(piece[:cut], ms + pause) + host.hear(piece[cut:], ms + pause + 15)
    assert [each.card for each in seen if isinstance(each, CardSeen)] == dealt
