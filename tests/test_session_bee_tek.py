"""The host's session with a Bee-Tek shoe: what each line says, and which card is one told again."""

from random import Random
from typing import Final

import pytest

from firmware_protocols.bee_tek import BeeTekSettings, ManualBurn
from shoed.cards import Card
from shoed.commands import Author, StartShoe
from shoed.observations import (
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
from shoed.session.bee_tek import BeeTekSession, BeeTekState
from shoed.step import Configured, DeviceOrder, DeviceOrderKind, LinkDown, LinkUp, Ordered, Told
from tests.angel_eye_line import at, kinds
from tests.listening import Listening

PORT: Final = "serial:///dev/shoe"
CONFIGURED: Final = Configured("{}", 1, "0.0")
FOUR: Final = b"[Game]<Card:4S>\r\n"
NINE: Final = b"[Game]<Card:9H>\r\n"


class Host(Listening[BeeTekState]):
    def __init__(self, manual_burn: ManualBurn = ManualBurn.BURNT, **settings: int) -> None:
        super().__init__(BeeTekSession(BeeTekSettings(manual_burn=manual_burn, **settings), allow_orders=True), PORT)


# --- what each line says


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
    """The shoe names no hand; text that names no card is a card without a face, under that text."""
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
    """With their text; a failed read and the alarm E3 say besides that a card passed unread."""
    data = f"{text}\r\n".encode()
    frame = Evidence(data.hex(" "), 0, "")
    fault = FaultRaised(at=at(5), frame=frame, code=code, name=name, blocking=False)
    card = CardSeen(at=at(5), frame=frame, place=Place.DEALT, position=0, card=None)
    assert Host().hear(data, 5) == [fault, *([card] if unread else [])]


@pytest.mark.parametrize(("setting", "place"), [(ManualBurn.BURNT, Place.BURN), (ManualBurn.DEALT, Place.DEALT)])
def test_the_cards_of_the_mode_of_manual_burn_cards_are_what_the_site_says(setting: ManualBurn, place: Place) -> None:
    """Read or not: burnt, or dealt in the slot that is due; the alarm of a card that was not read is its own fault."""
    seen = Host(setting).hear(b" [Manual Burn Cards]<Card:KC> \r\n", 5)
    assert [(each.place, each.card) for each in seen if isinstance(each, CardSeen)] == [(place, Card.CK)]
    for text in (b"<Game>", b"<Alarm:E3 Card Not Read>"):
        fault, card = Host(setting).hear(b"[Manual Burn Cards]" + text + b"\r\n", 5)
        assert isinstance(fault, FaultRaised)
        assert isinstance(card, CardSeen)
        assert (card.place, card.card) == (place, None)
    assert kinds(Host(setting).hear(b"[Manual Burn Cards]<Alarm:Jam>\r\n", 5)) == [FaultRaised]


def test_a_card_dealt_in_that_mode_may_be_told_again() -> None:
    """As in the game; a burnt one is told once."""
    data = b"[Manual Burn Cards]<Card:4S>\r\n"
    host = Host(ManualBurn.DEALT)
    assert kinds(host.hear(data, 1000) + host.hear(data, 1020) + host.hear(data, 1300)) == [
        CardSeen,
        CopyHeard,
        CardSeen,
    ]


def test_blanks_do_not_make_a_second_card_of_a_card_told_again() -> None:
    """The shoe may tell the card text again with blanks around it, or without."""
    host = Host()
    assert kinds(host.hear(b" [Game]<Card:4S> \r\n", 1000) + host.hear(FOUR, 1020)) == [CardSeen, CopyHeard]


@pytest.mark.parametrize(("after_ms", "cards"), [(0, 1), (199, 1), (200, 2)])
def test_a_failed_read_and_its_alarm_are_one_card(after_ms: int, cards: int) -> None:
    """Whichever comes first; later than that it is another card, and a person may say that it was none."""
    host = Host()
    seen = host.hear(b"[Game]<Game>\r\n", 1000) + host.hear(b"[Game]<Alarm:E3 Card Not Read>\r\n", 1000 + after_ms)
    assert kinds(seen).count(CardSeen) == cards
    assert kinds(seen).count(FaultRaised) == 2


def test_an_unknown_line_is_reported_whole() -> None:
    """Nothing is dropped, and the next card is heard."""
    unknown = b"[Result]<Banker>\r\n"
    rejected, card = Host().hear(unknown + FOUR, 5)
    assert isinstance(rejected, FrameRejected)
    assert (rejected.raw, rejected.offset, rejected.reason) == (unknown.hex(" "), 0, "unknown-command")
    assert isinstance(card, CardSeen)


# --- the same card told again


@pytest.mark.parametrize(("after_ms", "again"), [(0, CopyHeard), (18, CopyHeard), (199, CopyHeard), (200, CardSeen)])
def test_a_card_told_again_is_no_second_card(after_ms: int, again: type[AnyObservation]) -> None:
    """Within the window it is the same card; after it, an honest second card of the same face is not lost."""
    host = Host()
    assert kinds(host.hear(FOUR, 1000)) == [CardSeen]
    assert kinds(host.hear(FOUR, 1000 + after_ms)) == [again]


def test_equal_cards_at_a_dealers_speed_are_two() -> None:
    """Each of them may be told again."""
    host = Host()
    seen = host.hear(FOUR, 1000) + host.hear(FOUR, 1040) + host.hear(FOUR, 1250) + host.hear(FOUR, 1290)
    assert kinds(seen) == [CardSeen, CopyHeard, CardSeen, CopyHeard]


def test_a_card_is_told_again_once() -> None:
    """A third line in the window is a card of its own."""
    assert kinds(Host().hear(FOUR * 4, 1000)) == [CardSeen, CopyHeard, CardSeen, CopyHeard]


def test_where_the_shoe_tells_no_card_again_every_line_is_a_card() -> None:
    """The setting `copies` says so."""
    assert kinds(Host(copies=1).hear(FOUR * 3, 1000)) == [CardSeen] * 3


def test_the_window_is_a_setting() -> None:
    """For a shoe that takes longer to tell a card again."""
    host = Host(repeat_window_ms=20)
    assert kinds(host.hear(FOUR, 1000) + host.hear(FOUR, 1021)) == [CardSeen, CardSeen]


@pytest.mark.parametrize("between", [NINE, b"[Game]<Game>\r\n", b"<W0x01>\r\n"])
def test_another_line_between_makes_it_another_card(between: bytes) -> None:
    """A card is told again before anything else is told."""
    seen = Host().hear(FOUR + between + FOUR, 1000)
    assert CopyHeard not in kinds(seen)
    assert isinstance(seen[-1], CardSeen)


@pytest.mark.parametrize("data", [b"[Manual Burn Cards]<Card:4S>\r\n", b"<W0x01>\r\n"])
def test_only_cards_in_the_game_are_told_again(data: bytes) -> None:
    """Two equal lines of anything else are two."""
    (kind, other) = kinds(Host().hear(data * 2, 1000))
    assert kind is other is not CopyHeard


def test_a_clock_of_another_boot_makes_no_copy() -> None:
    """A moment before the last card proves that the machine began anew: the card is taken."""
    host = Host()
    host.hear(FOUR, 1000)
    assert kinds(host.hear(FOUR, 900)) == [CardSeen]


# --- away, quiet, torn


def test_nothing_proves_what_was_missed_while_the_link_was_away() -> None:
    """The first line after it says so, once."""
    host = Host()
    host.hear(FOUR, 1000)
    assert list(host.take(LinkDown("the cable is out"), 2000).observations) == [
        LinkClosed(at=at(2000), reason="the cable is out")
    ]
    host.take(LinkUp(PORT), 3000)
    resumed, card, nine = host.hear(FOUR + NINE, 4000)
    assert resumed == Resumed(at=at(4000), frame=Evidence(FOUR.hex(" "), 0, ""))
    assert kinds([card, nine]) == [CardSeen, CardSeen]


def test_a_link_that_fails_before_the_first_line_missed_nothing_that_is_known() -> None:
    """Without a card before it there is nothing to resume."""
    host = Host()
    for ms in (1000, 1500):
        assert kinds(host.take(LinkDown("busy"), ms).observations) == [LinkClosed]
    host.take(LinkUp(PORT), 2000)
    assert kinds(host.hear(FOUR, 3000)) == [CardSeen]


def test_a_daemon_that_was_away_closes_the_link_that_it_left_open() -> None:
    """It never said that it stopped: what was pending is given up, and what follows is resumed."""
    host = Host()
    host.hear(FOUR + b"[Game", 1000)
    assert kinds(host.take(CONFIGURED, 9000).observations) == [FrameRejected, LinkClosed]
    assert kinds(host.take(CONFIGURED, 9001).observations) == []
    host.take(LinkUp(PORT), 9002)
    assert kinds(host.hear(NINE, 9100)) == [Resumed, CardSeen]


def test_bytes_of_a_closed_link_are_nobodys() -> None:
    """And nothing is waited for."""
    host = Host()
    host.take(LinkDown("the cable is out"), 1000)
    assert host.hear(FOUR, 1001) == []
    assert host.wake(400_000) == []
    assert host.wake_ms is None


def test_a_line_that_is_not_finished_is_given_up() -> None:
    """After the silence that the setting says, and it is woken for that."""
    host = Host()
    assert host.hear(FOUR[:9], 1000) == []
    assert host.wake_ms == 1500
    assert host.wake(1499) == []
    (torn,) = host.wake(1500)
    assert isinstance(torn, FrameRejected)
    assert (torn.raw, torn.reason) == (FOUR[:9].hex(" "), "torn")


def test_a_quiet_line_is_told_once() -> None:
    """After the silence that the setting says; the next byte ends it."""
    host = Host()
    assert host.wake_ms == 300_000
    assert host.wake(300_000) == [WentQuiet(at=at(300_000), since=at(0))]
    assert host.session.wake_at(host.state) is None
    assert host.wake(900_000) == []
    assert kinds(host.hear(FOUR, 900_001)) == [HeardAgain, CardSeen]


def test_no_order_is_carried_out() -> None:
    """None is known, allowed or not: it is refused with that reason, and nothing is written."""
    heard = Host().take(Ordered(DeviceOrder(DeviceOrderKind.LOCK)), 1000)
    (answer,) = heard.observations
    assert answer == OrderAnswered(
        at=at(1000),
        order="lock",
        accepted=False,
        detail="a Bee-Tek shoe executes no orders; operate it by hand",
        answered_by=AnsweredBy.HOST,
    )


def test_what_a_person_tells_the_table_is_none_of_its_business() -> None:
    """Nothing follows, and nothing changes."""
    host = Host()
    before = host.state
    assert kinds(host.take(Told(StartShoe(), Author("ann", None), "7f3a"), 1000).observations) == []
    assert host.state == before


@pytest.mark.parametrize("seed", range(20))
def test_no_card_is_lost_or_made_on_a_bad_line(seed: int) -> None:
    """Cards at a dealer's speed, told once or twice, cut anyhow, with unknown lines and noise among them."""
    dice = Random(seed)
    host, dealt, seen, ms = Host(), list[Card](), list[AnyObservation](), 0.0
    for _ in range(100):
        ms += dice.choice((250, 300, 2000))
        dealt.append(dice.choice((Card.S4, Card.H9)))  # equal cards follow each other often
        data = f"[Game]<Card:{dealt[-1]}>\r\n".encode()
        noise = dice.choice((b"", b"", b"[Result]<Tie>\r\n", b"\xff\x00", b"[Game]<\x00\n"))
        for pause, piece in ((0, noise + data), *([(dice.randrange(150), data)] if dice.random() < 0.5 else [])):
            cut = dice.randrange(len(piece))
            seen += host.hear(piece[:cut], ms + pause) + host.hear(piece[cut:], ms + pause + 15)
    assert [each.card for each in seen if isinstance(each, CardSeen)] == dealt
