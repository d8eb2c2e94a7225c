"""The display of a table, from literal messages and from whole shoes."""

import json
from collections.abc import Iterable, Mapping
from itertools import product
from random import Random
from typing import Any, Final

import msgspec
import pytest
from msgspec.structs import replace

from firmware_protocols.angel_eye import AngelEyeSettings, StandBy
from shoed.bus.messages import Presence, StatusMessage, TableMessages
from shoed.display.layout import PICTURES, SGR, Importance, Look, ScreenLine, fitted, look
from shoed.display.terminal import CHOICES, WIDTH, plain, screen
from shoed.display.view import ShownEvent, TableView, read, updated
from shoed.engine import Engine
from shoed.journal import StoredEvent
from shoed.model.cards import Card
from shoed.model.events import Event
from shoed.model.incarnations import WordSince
from shoed.model.moments import Now
from shoed.model.step import LinkDown, LinkUp, Received
from shoed.rig.dealer import deal
from shoed.rules.load import GAMES
from shoed.session.angel_eye import AngelEyeSession
from shoed.session.angel_eye_shoe import AngelEyeShoe
from shoed.table import TableSettings, public_state
from shoed.table.state import LinkStatus
from shoed.watch import WatchSettings
from tests.onlooker import Onlooker
from tests.shown import questions
from tests.trouble import troubled_rounds

IDENTITY: Final = ("vendor", "model", "serial", "firmware", "protocol")
ROOT: Final = "shoed/v1/rws/bac-901"
VOICE: Final = TableMessages("rws", "bac-901", (WordSince(0, "word"),), "commission", "0")


class Subscriber:
    def __init__(self) -> None:
        self.view = TableView()
        self.lines: list[str] = []

    def receive(self, topic: str, payload: bytes) -> None:
        found = read(topic, payload)
        if found is None:
            return
        name, heard = found
        assert name == "bac-901"
        self.view = updated(self.view, heard)
        if (line := plain(heard)) is not None:
            self.lines.append(line)

    def publish(self, sequence: int, kind: str, data: Mapping[str, object]) -> None:
        """Receive one event in its published form."""
        envelope = {
            "specversion": "1.0",
            "id": f"word-bac-901-{sequence}",
            "source": "/shoed/rws/bac-901",
            "type": f"shoed.{kind}",
            "time": "2025-03-01T18:00:00.000000Z",
            "datacontenttype": "application/json",
            "sequence": str(sequence),
            "data": data,
        }
        self.receive(f"{ROOT}/event/{kind.replace('.', '/')}", json.dumps(envelope).encode())

    @property
    def screen(self) -> list[str]:
        """The screen without its colours."""
        return [SGR.sub("", line.text).rstrip() for line in screen({"bac-901": self.view})]

    def shows(self, *words: str) -> bool:
        """Whether one line of the screen contains all words."""
        return any(all(word in line for word in words) for line in self.screen)


ROUND: Final = {"shoe": 2, "round": 7}
PLAYER: Final = {"cards": ["8S", "QH"], "points": 8}
BANKER: Final = {"cards": ["3H", "3D"], "points": 6}
OURS: Final = {"outcome": "player", "pairs": ["banker"]}


def deal_a_round(subscriber: Subscriber) -> None:
    subscriber.publish(
        3, "round.started", {**ROUND, "game": "commission", "opened_by": "card", "shoe_integrity": "complete"}
    )
    drawn = (("player", "8S", 8, 0), ("banker", "3H", 8, 3), ("player", "QH", 8, 3), ("banker", "3D", 8, 6))
    for index, (hand, card, player, banker) in enumerate(drawn, 1):
        points = {"player": player, "banker": banker}
        data = {**ROUND, "index": index, "hand": hand, "card": card, "points": points, "provenance": 40 + index}
        subscriber.publish(3 + index, "card.drawn", data)
    completed = {**ROUND, "game": "commission", "player": PLAYER, "banker": BANKER, **OURS, "integrity": "complete"}
    subscriber.publish(8, "round.completed", completed)


def answered(subscriber: Subscriber, kind: str, theirs: Mapping[str, object]) -> None:
    subscriber.publish(9, f"round.{kind}", {**ROUND, "ours": OURS, "theirs": theirs})


STATE: Final[dict[str, Any]] = {
    "sequence": "50",
    "phase": "dealing",
    "game": "commission",
    "shoe": 2,
    "shoe_integrity": "complete",
    "round": 8,
    "hands": {"player": {"cards": ["KC"], "points": 0}, "banker": {"cards": [], "points": 0}},
    "last_round": {
        **ROUND,
        "hands": {"player": PLAYER, "banker": BANKER},
        "result": OURS,
        "integrity": "complete",
        "answer": "confirmed",
    },
    "device": {
        "link": "online",
        "reason": None,
        "heard_at": "2025-03-01T18:00:00.000000Z",
        "fault": {"code": 1, "name": "cannot-read", "blocking": True},
        "locked": True,
    },
}


@pytest.fixture
def subscriber() -> Subscriber:
    return Subscriber()


def test_a_round_has_a_plain_line_for_each_event(subscriber: Subscriber) -> None:
    """Round, cards, totals, result, and the answer of the shoe, in ASCII."""
    deal_a_round(subscriber)
    answered(subscriber, "confirmed", OURS)
    assert subscriber.lines == [
        "shoe 2 round 7",
        "  player 8S   player 8, banker 0",
        "  banker 3H   player 8, banker 3",
        "  player QH   player 8, banker 3",
        "  banker 3D   player 8, banker 6",
        "  result: player, player 8 (8S QH), banker 6 (3H 3D), banker pair",
        "  the shoe confirms the result",
    ]


def test_a_round_is_drawn_card_by_card(subscriber: Subscriber) -> None:
    """Both hands with their totals; at the end the winner, the pairs, and the round in the list."""
    deal_a_round(subscriber)
    assert subscriber.shows("bac-901", "commission", "shoe 2", "round 7")
    assert subscriber.shows("8 ", "Q ", "3 ")
    assert subscriber.shows("♠", "♥", "♦")
    assert subscriber.shows("8  wins", "6  pair")
    assert subscriber.shows("7  player  8 : 6   8♠ Q♥", "3♥ 3♦", "banker pair")
    assert not subscriber.shows("confirmed")
    answered(subscriber, "confirmed", OURS)
    assert subscriber.shows("7  player", "confirmed")


def test_red_suits_are_red_and_black_ones_are_not(subscriber: Subscriber) -> None:
    """The cards have a white background."""
    deal_a_round(subscriber)
    text = "\n".join(line.text for line in screen({"bac-901": subscriber.view}))
    assert "\x1b[31;107m  ♥  \x1b[0m" in text
    assert "\x1b[31;107m  ♦  \x1b[0m" in text
    assert "\x1b[30;107m  ♠  \x1b[0m" in text


def test_a_dispute_is_shown(subscriber: Subscriber) -> None:
    """The list and a line contain the result of the shoe."""
    deal_a_round(subscriber)
    answered(subscriber, "disputed", {"outcome": "tie", "pairs": ["player"]})
    assert subscriber.shows("7  player", "disputed")
    assert subscriber.lines[-1] == "  DISPUTED: the shoe reports tie, player pair"


def test_an_answer_to_an_earlier_round_has_no_effect(subscriber: Subscriber) -> None:
    """Only the last completed round can be answered."""
    deal_a_round(subscriber)
    subscriber.publish(9, "round.unconfirmed", {"shoe": 2, "round": 6})
    assert not subscriber.shows("unconfirmed")


def test_a_late_subscriber_sees_the_present_table(subscriber: Subscriber) -> None:
    """The retained state is enough: hands, last round, and the device with its fault and its lock."""
    subscriber.receive(f"{ROOT}/state", json.dumps(STATE).encode())
    assert subscriber.shows("shoe 2", "round 8")
    assert subscriber.shows("7  player  8 : 6", "confirmed")
    assert subscriber.shows("shoe", "online", "fault 1, cannot-read", "locked")
    assert subscriber.lines == []


def test_events_that_the_state_includes_are_ignored(subscriber: Subscriber) -> None:
    """Only events after the state change the view."""
    subscriber.receive(f"{ROOT}/state", json.dumps(STATE).encode())
    before = subscriber.view
    deal_a_round(subscriber)
    assert subscriber.view == before
    data = {"shoe": 2, "round": 8, "index": 2, "hand": "banker", "card": "9C", "points": {"player": 0, "banker": 9}}
    subscriber.publish(51, "card.drawn", {**data, "provenance": 3})
    assert subscriber.view.hands.banker.points == 9


def test_a_subscriber_from_the_first_event_needs_no_state(subscriber: Subscriber) -> None:
    """A birth publishes the state before the backlog that it includes. The first event resets the view."""
    subscriber.receive(f"{ROOT}/state", json.dumps(STATE).encode())
    subscriber.publish(1, "device.online", {"port": "tcp://10.0.0.7:4001"})
    deal_a_round(subscriber)
    subscriber.receive(f"{ROOT}/state", json.dumps(STATE).encode())
    assert [played.round for played in subscriber.view.past] == [7]
    assert subscriber.shows("shoe", "online", "tcp://10.0.0.7:4001")
    assert subscriber.view.sequence == 8


def test_a_suspended_round_is_shown_as_waiting(subscriber: Subscriber) -> None:
    """The reason is shown until the next round is complete."""
    deal_a_round(subscriber)
    seen = {"card": "9C", "hand": "banker", "position": 3, "result": None}
    subscriber.publish(
        9, "card.set-aside", {**ROUND, "card": "9C", "reason": "not-due", "reported": seen, "provenance": 9}
    )
    assert subscriber.shows("9C set aside: not-due")
    subscriber.publish(10, "round.suspended", {**ROUND, "due": None, "seen": seen, "gap": False})
    assert subscriber.shows("suspended: waits for a person")
    assert subscriber.shows("SUSPENDED: no card was due; the shoe reported 9C, card 3 of banker")
    assert subscriber.lines[-2:] == [
        "9C set aside: not-due",
        "  SUSPENDED: no card was due; the shoe reported 9C, card 3 of banker",
    ]


def test_a_card_with_an_unknown_position_is_shown_with_the_value_of_the_shoe(subscriber: Subscriber) -> None:
    """The reason alone does not contain the value."""
    seen = {"card": "9C", "hand": None, "position": None, "result": None, "unknown": "target 6"}
    aside = {**ROUND, "card": "9C", "reason": "unknown", "reported": seen, "provenance": 9}
    subscriber.publish(1, "card.set-aside", aside)
    assert subscriber.lines[-1:] == ["9C set aside: unknown target 6"]


@pytest.mark.parametrize(
    ("seen", "words"),
    [
        ({"card": None, "hand": "player", "position": 3}, "an unreadable card, card 3 of player"),
        ({"card": "9C", "unknown": "target 6"}, "9C with the unknown target 6"),
        ({"result": {"outcome": "tie", "pairs": []}}, "result tie"),
    ],
)
def test_the_reason_of_a_suspension_is_one_line(subscriber: Subscriber, seen: dict[str, object], words: str) -> None:
    """It contains the due card and the report of the shoe."""
    due = {"hand": "player", "position": 3, "index": 5}
    subscriber.publish(1, "round.suspended", {**ROUND, "due": due, "seen": seen, "gap": True})
    assert subscriber.lines == [f"  SUSPENDED: card 3 of player was due; the shoe reported {words}"]


def test_an_event_without_its_own_text_is_shown_as_data(subscriber: Subscriber) -> None:
    """The line has the name of the event and its data. The screen cuts it to its width."""
    data = {"device": "shoe", "bytes": "05 " * 40, "offset": 0, "reason": "torn", "detail": "", "count": 1}
    data |= {"size": 40, "unkept": 0}
    subscriber.publish(1, "line.rejected", data)
    assert subscriber.lines == [f"line.rejected {json.dumps(data, separators=(',', ':'))}"]
    assert subscriber.shows('line.rejected {"device":"shoe","bytes":"05 05')
    assert max(map(len, subscriber.screen)) == WIDTH


def test_the_health_of_the_device_is_shown(subscriber: Subscriber) -> None:
    """Quiet, offline with its reason, fault and lock, and their ends."""
    port = {"port": "tcp://10.0.0.7:4001"}
    assert subscriber.shows("shoe", "offline")
    subscriber.publish(2, "device.online", port)
    assert subscriber.shows("shoe", "● online · tcp://10.0.0.7:4001")
    subscriber.publish(3, "device.quiet", {**port, "since": "2025-03-01T18:00:00.000000Z"})
    assert subscriber.shows("shoe", "quiet")
    subscriber.publish(4, "device.fault", {"code": 6, "name": "card-code", "blocking": True})
    subscriber.publish(5, "device.locked", {})
    assert subscriber.shows("shoe", "fault 6, card-code", "locked")
    subscriber.publish(6, "device.cleared", {"code": 6, "name": "card-code"})
    subscriber.publish(7, "device.unlocked", {})
    assert not subscriber.shows("fault")
    assert not subscriber.shows("locked")
    subscriber.publish(8, "device.doubted", {"reason": "no-hello", "detail": "it says nothing"})
    assert subscriber.shows("shoe", "no-hello: it says nothing")
    assert subscriber.lines[-1] == "the shoe is not reliable, no-hello: it says nothing"
    subscriber.publish(9, "device.trusted", {"reason": "no-hello"})
    assert not subscriber.shows("it says nothing")
    subscriber.publish(10, "device.offline", {**port, "reason": "the cable is out"})
    assert subscriber.shows("shoe", "offline · the cable is out")
    assert subscriber.lines[-1] == "the shoe is offline: the cable is out"


def test_the_health_of_a_shuffler_is_shown(subscriber: Subscriber) -> None:
    """Its events and the retained state change it; the shoe's health is separate."""
    assert not subscriber.shows("shuffler")
    subscriber.publish(2, "device.online", {"device": "shuffler", "port": "tcp://10.0.0.7:4002"})
    assert subscriber.lines[-1] == "the shuffler is online: tcp://10.0.0.7:4002"
    subscriber.publish(3, "device.fault", {"device": "shuffler", "code": 5, "name": "door-open", "blocking": True})
    subscriber.publish(4, "device.identified", {"device": "shuffler", **dict.fromkeys(IDENTITY, "7")})
    assert subscriber.shows("shuffler", "online", "fault 5, door-open")
    assert subscriber.shows("shoe", "offline")
    assert not subscriber.shows("shoe ", "fault")
    late = Subscriber()
    shuffler = {**STATE["device"], "fault": None, "link": "quiet"}
    late.receive(f"{ROOT}/state", json.dumps(STATE | {"shuffler": shuffler}).encode())
    assert late.shows("shuffler", "quiet")
    assert late.shows("shoe", "online", "fault 1")


def test_the_health_of_the_daemon_is_shown(subscriber: Subscriber) -> None:
    """It is the retained status with its reason."""
    assert subscriber.shows("daemon", "unknown")
    for status in (Presence.ONLINE, Presence.OFFLINE):
        message = VOICE.status(StatusMessage(status, "because", "2025-03-01T18:00:00.000000Z", "0"))
        subscriber.receive(message.topic, message.payload)
        assert subscriber.shows("daemon", f"{status.value} · because")
    assert subscriber.lines == ["the daemon is online: because", "the daemon is offline: because"]


@pytest.mark.parametrize(
    ("topic", "payload"),
    [
        (f"{ROOT}/question", b"{}"),
        (f"{ROOT}/event/card/drawn", b"no JSON"),
        (f"{ROOT}/event/card/drawn", b'{"a": 1}'),
        (f"{ROOT}/state", b"[]"),
        (f"{ROOT}/status", b""),
        ("shoed/v1/rws", b"{}"),
        ("elsewhere/v1/rws/bac-901/state", b"{}"),
    ],
)
def test_unknown_topics_and_payloads_are_ignored(subscriber: Subscriber, topic: str, payload: bytes) -> None:
    """Another publisher on the broker cannot break a screen."""
    subscriber.receive(topic, payload)
    assert subscriber.view == TableView()


def test_the_open_question_is_shown_until_it_is_answered(subscriber: Subscriber) -> None:
    """The text of the question, the deciding role and the ground, and the effect of each choice, within the width."""
    for shown in questions():
        subscriber.receive(f"{ROOT}/question", msgspec.json.encode(shown.question))
        screen = " ".join(" ".join(subscriber.screen).split())
        effects = [each.effect for each in shown.question.consequences]
        for text in (shown.question.text, shown.question.decided_by, shown.question.ground, *effects[:CHOICES]):
            assert text in screen
        assert (f"and {len(effects) - CHOICES} more choices" in screen) is (len(effects) > CHOICES)
        assert max(map(len, subscriber.screen)) <= WIDTH
        assert subscriber.lines[-1].isascii()
    before = len(subscriber.lines)
    subscriber.receive(f"{ROOT}/question", b"")
    assert subscriber.view == TableView()
    assert len(subscriber.lines) == before


def test_events_of_a_later_version_are_ignored(subscriber: Subscriber) -> None:
    """The type or a field of the event is unknown."""
    subscriber.publish(1, "card.wrapped", {})
    assert subscriber.view == TableView()
    subscriber.publish(2, "device.online", {"port": "tcp://10.0.0.7:4001", "colour": "blue"})
    assert subscriber.shows("shoe", "online")


@pytest.mark.parametrize("seed", range(3))
def test_a_whole_shoe_fits_the_screen_at_every_step(seed: int) -> None:
    """The width and the number of lines are constant. A view from the events and a view from the state are equal."""
    engine = Engine(
        AngelEyeSession(AngelEyeSettings(), allow_orders=False),
        WatchSettings(0),
        TableSettings("commission", "tcp://x:1"),
    )
    state, follower, heights = engine.begin(), Subscriber(), set()
    role = AngelEyeShoe(AngelEyeSettings())
    shoe, utc_us = role.begin(), 0
    incoming: list[LinkUp | LinkDown | Received] = [LinkUp("tcp://x:1")]
    for pause_s, report in deal(Random(seed), 8):
        if isinstance(report, StandBy):
            break
        shoe, sent = role.say(shoe, report)
        utc_us += round(pause_s * 1e6)
        for each in (*incoming, Received(sent)):
            state, step = engine.step(state, each, Now(utc_us, utc_us * 1000))
            assert step is not None
            for event in step.events:
                message = VOICE.event(stored(event), historical=False)
                follower.receive(message.topic, message.payload)
                heights.add(len(follower.screen))
                assert max(map(len, follower.screen)) <= WIDTH
        incoming.clear()
        late = Subscriber()
        message = VOICE.state(public_state("commission", state.table))
        late.receive(message.topic, message.payload)
        assert standing(late.view) == standing(follower.view)
    assert len(heights) == 1
    assert len(follower.view.past) > 60


def test_a_card_left_over_starts_the_next_round(subscriber: Subscriber) -> None:
    """An event draws it, and contains the id of the event that set it aside."""
    deal_a_round(subscriber)
    paid = {"player": {"pays": "1:1", "clause": "4.1.2"}}
    settled = {**ROUND, "outcome": "player", "pays": paid, "returned": [], "carried": ["5D"]}
    subscriber.publish(9, "round.settled", settled)
    opened = {"shoe": 2, "round": 8, "game": "commission", "opened_by": "announcement", "shoe_integrity": "complete"}
    subscriber.publish(10, "round.started", opened)
    drawn = {"shoe": 2, "round": 8, "index": 1, "hand": "player", "card": "5D", "points": {"player": 5, "banker": 0}}
    subscriber.publish(11, "card.drawn", {**drawn, "provenance": 2, "set_aside": "word-bac-901-8", "source": "device"})
    drawn = {"shoe": 2, "round": 8, "index": 2, "hand": "banker", "card": "9C", "points": {"player": 5, "banker": 9}}
    subscriber.publish(12, "card.drawn", {**drawn, "provenance": 3})
    assert (subscriber.view.hands.player.cards, subscriber.view.hands.banker.cards) == ((Card.D5,), (Card.C9,))


def test_the_view_from_the_events_equals_the_state_after_every_step() -> None:
    """The inputs include waiting, reordered, corrected, void and left-over cards, and answers of people."""

    class Followed(Onlooker):
        view = TableView()

        def check(self, publish: Iterable[Event]) -> None:
            for event in publish:
                self.view = updated(self.view, ShownEvent(event.sequence, event.type, event.data))
            late = updated(TableView(), self.table.shown)
            known = self.view if late.past else replace(self.view, past=())  # a round that was reopened has no result
            assert standing(known) == standing(late)

    for game, seed in product(GAMES, range(12)):
        Followed(game).play(troubled_rounds(seed))


def standing(view: TableView) -> tuple[object, ...]:
    past = [replace(each, pays={}) for each in view.past[-1:]]  # only the state contains them
    links = {device: shown.public.link for device, shown in view.devices.items()}
    up = {device: link for device, link in links.items() if link is not LinkStatus.OFFLINE}
    return view.shoe, view.round, view.phase, view.hands, past, up


def stored(event: Event) -> StoredEvent:
    return StoredEvent(event.sequence, event.type, event.utc_us, msgspec.json.encode(event.data).decode())


def test_several_tables_are_shown_one_below_the_other() -> None:
    """They are sorted by name."""
    lines = [SGR.sub("", line.text) for line in screen({"b": TableView(), "a": TableView()})]
    assert lines[0].startswith("  a ")
    assert lines[len(lines) // 2].startswith("  b ")


def test_a_low_terminal_omits_the_least_important_lines(subscriber: Subscriber) -> None:
    """Each further row shows one more line, and the lines keep their order. The hands are omitted last."""
    deal_a_round(subscriber)
    for shown in questions()[:1]:
        subscriber.receive(f"{ROOT}/question", msgspec.json.encode(shown.question))
    lines = screen({"bac-901": subscriber.view})
    assert {line.importance for line in lines} == set(Importance) - {Importance.HEAD}
    for rows in range(len(lines)):
        fewer, more = fitted(lines, rows), fitted(lines, rows + 1)
        assert any(fewer == more[:at] + more[at + 1 :] for at in range(rows + 1))
    assert fitted(lines, len(lines)) == fitted(lines, len(lines) + 1) == [line.text for line in lines]
    assert fitted(lines, 4) == [line.text for line in lines if line.importance is Importance.HANDS]


def test_of_equal_lines_the_first_ones_are_kept() -> None:
    """The newest of the earlier rounds is the first one."""
    assert fitted(
        [ScreenLine(Importance.HISTORY, "3"), ScreenLine(Importance.ROUND, "4"), ScreenLine(Importance.HISTORY, "2")], 2
    ) == ["3", "4"]


@pytest.mark.parametrize(
    ("environment", "encoding", "expected"),
    [
        ({}, "utf-8", Look(colours=True, unicode=True)),
        ({"NO_COLOR": "1"}, "utf-8", Look(colours=False, unicode=True)),
        ({"NO_COLOR": ""}, "utf-8", Look(colours=True, unicode=True)),
        ({"LANG": "de_DE.UTF-8"}, "utf-8", Look(colours=True, unicode=True)),
        ({"LANG": "de_DE.UTF-8"}, "ascii", Look(colours=True, unicode=False)),
        ({"LANG": "de_DE"}, "iso-8859-1", Look(colours=True, unicode=False)),
        ({"LANG": "C"}, "utf-8", Look(colours=True, unicode=False)),
        ({"LANG": "C", "LC_CTYPE": "C.UTF-8"}, "utf-8", Look(colours=True, unicode=False)),  # Python sets LC_CTYPE
        ({"LANG": "C", "LC_CTYPE": "de_DE.UTF-8"}, "utf-8", Look(colours=True, unicode=True)),
        ({"LANG": "C", "LC_ALL": "C.UTF-8"}, "utf-8", Look(colours=True, unicode=True)),
        ({"LANG": "de_DE.UTF-8", "LC_ALL": "POSIX"}, "utf-8", Look(colours=True, unicode=False)),
    ],
)
def test_the_environment_decides_on_colours_and_characters(
    environment: Mapping[str, str], encoding: str, expected: Look
) -> None:
    """An empty NO_COLOR has no effect. In the locale C, Python writes UTF-8, and a terminal may have only ASCII."""
    assert look(environment, encoding) == expected


def test_every_character_of_a_screen_has_an_ascii_character(subscriber: Subscriber) -> None:
    """The columns do not move."""
    deal_a_round(subscriber)
    text = "\n".join(line.text for line in screen({"bac-901": subscriber.view}))
    plain_text = Look(colours=False, unicode=False).of(text)
    assert plain_text.isascii()
    assert len(plain_text) == len(SGR.sub("", text))
    assert any(picture in text for picture in PICTURES)
