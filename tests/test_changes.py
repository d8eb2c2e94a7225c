"""The differences of two configurations, and the part that a running daemon can apply."""

import pytest
from msgspec.structs import replace

from firmware_protocols.angel_eye import AngelEyeSettings
from shoed.bus.settings import BrokerSettings
from shoed.engine import ENGINE, EngineState
from shoed.journal.retention import Keep
from shoed.model.commands import Author, OpenBets
from shoed.model.irregularities import Role
from shoed.model.observations import Device
from shoed.model.requests import LogLevel
from shoed.model.step import AnyInput, Commanded, Configured, LinkUp, Received
from shoed.service.changes import Changes, Plan, TableNow, changes, plan, under_way
from shoed.service.config import Config, HouseRules, ShoeConfig, ShufflerConfig, TableConfig
from shoed.service.journal_settings import JournalSettings
from shoed.service.metrics_settings import LoopbackPort
from shoed.session import SessionState
from shoed.table import AfterGap
from tests.angel_eye_line import PORT, at
from tests.foreign_shoe import NATURAL, report, result
from tests.test_engine import engine

HELD = "the end of round 3"
BETS = Commanded(OpenBets(), Author("ann", Role.DEALER), "1")


def tcp(number: int) -> str:
    return f"tcp://10.0.0.7:{number}"


def table(name: str, port: int = 4001, house: HouseRules | None = None) -> TableConfig:
    shoe = ShoeConfig("angel-eye", "ii-ex", tcp(port), False, 250, AngelEyeSettings())  # noqa: FBT003 -- no orders
    return TableConfig(name, "commission", 8, None, shoe, house=house or HouseRules())


SHUFFLER = ShufflerConfig("open-shoe", "1", tcp(4009), False, AngelEyeSettings())  # noqa: FBT003 -- no orders
A, B, C = table("a", 1), table("b", 2), table("c", 3)
ABANDONS = HouseRules(after_gap=AfterGap.ABANDON)
CONFIG = Config("rws", "/var/lib/shoed", BrokerSettings("127.0.0.1", 1883), (A, B))


# ---------------------------------------------------------------------------------------------- the differences


def test_equal_configurations_have_no_changes() -> None:
    """The order of the tables is not a change."""
    assert changes(CONFIG, replace(CONFIG, tables=(B, A))) == Changes()


def test_changes_have_the_names_of_the_keys_in_the_file() -> None:
    """Each group has its own effect. The keys of a device family and of the house are keys of their section."""
    broker = BrokerSettings("10.0.0.8", 8883, tls=True, user="shoed")
    shoe = replace(A.shoe, port=tcp(9), settings=AngelEyeSettings(line_baud=50))
    changed = replace(A, decks=6, shoe=shoe, house=ABANDONS, shuffler=SHUFFLER)
    new = Config("sands", "/srv", broker, (changed, C), LoopbackPort("127.0.0.1", 9101), log_level=LogLevel.DEBUG)
    new = replace(new, journal=JournalSettings(key_file="/etc/key", keep=Keep(days=9, mb=99)))
    keys = ("table.decks", "table.shoe.port", "table.shoe.line_baud", "table.after_gap", "table.shuffler")
    assert changes(CONFIG, new) == Changes(
        restart=(
            "site.name",
            "site.state_dir",
            "journal.key_file",
            "journal.keep_days",
            "journal.keep_mb",
            "metrics.listen",
        ),
        log=("log.level",),
        broker=("mqtt.url", "mqtt.user"),
        added=("c",),
        removed=("b",),
        changed={"a": keys},
    )


# ---------------------------------------------------------------------------------------------- the plan


def planned(present: list[TableNow], *wanted: TableConfig) -> Plan:
    return plan({now.config.name: now for now in present}, {each.name: each for each in wanted})


def test_between_rounds_everything_applies() -> None:
    """A table is changed, another is removed, and a third is added."""
    changed = replace(A, house=ABANDONS)
    assert planned([TableNow(A), TableNow(B)], changed, C) == Plan({"a": changed, "c": C}, {})


def test_a_round_holds_a_change_and_a_removal() -> None:
    """The reason names the round. An unchanged table does not wait."""
    found = planned([TableNow(A, HELD), TableNow(B, HELD), TableNow(C, HELD)], replace(A, house=ABANDONS), C)
    assert found == Plan({"a": A, "b": B, "c": C}, {"a": f"waits for {HELD}", "b": f"waits for {HELD}"})


@pytest.mark.parametrize("offline", [(), (Device.SHOE,)])
def test_a_device_without_an_open_link_changes_in_a_round(offline: tuple[Device, ...]) -> None:
    """A connected shoe stays, and the house settings stay. A shuffler does not affect a round."""
    wanted = replace(A, shoe=replace(A.shoe, port=tcp(9)), house=ABANDONS, shuffler=SHUFFLER)
    shoe = wanted.shoe if offline else A.shoe
    target = replace(A, shoe=shoe, shuffler=SHUFFLER)
    assert planned([TableNow(A, HELD, offline)], wanted) == Plan({"a": target}, {"a": f"waits for {HELD}"})


def test_a_port_moves_only_when_its_table_releases_it() -> None:
    """A chain of tables waits for the one in a round. Their other settings apply."""
    a, b, c = replace(A, shoe=B.shoe), replace(B, shoe=C.shoe, house=ABANDONS), replace(C, shoe=A.shoe)
    found = planned([TableNow(A, HELD), TableNow(B), TableNow(C)], a, b, c)
    assert found.tables == {"a": A, "b": replace(B, house=ABANDONS), "c": C}
    assert found.waiting["c"] == f"waits until a releases {tcp(1)}"
    assert found.waiting["b"] == f"waits until c releases {tcp(3)}"
    assert planned([TableNow(A), TableNow(B), TableNow(C)], a, b, c) == Plan({"a": a, "b": b, "c": c}, {})


def test_an_added_table_waits_for_its_port() -> None:
    """Options after the port do not select another device."""
    renamed = replace(table("d"), shoe=replace(A.shoe, port=f"{tcp(1)}?keepalive=9"))
    assert planned([TableNow(A, HELD)], renamed) == Plan(
        {"a": A}, {"a": f"waits for {HELD}", "d": f"waits until a releases {tcp(1)}"}
    )


# ---------------------------------------------------------------------------------------------- rounds


class Played:
    """A table whose shoe is online."""

    def __init__(self) -> None:
        self.engine = engine()
        self.state: EngineState[SessionState] = self.engine.begin()
        self.ms = 0.0
        self.sequence = 0
        self.take(Configured("{}", ENGINE, "1"), LinkUp(PORT))

    def take(self, *several: AnyInput) -> None:
        for each in several:
            self.ms += 1000
            self.state, _ = self.engine.step(self.state, each, at(self.ms))

    def say(self, *bodies: str) -> None:
        for body in bodies:
            self.sequence = self.sequence % 9 + 1
            self.take(Received(report(str(self.sequence), body)))

    @property
    def held(self) -> str:
        return under_way(self.engine.table_settings, self.state.table)


def test_a_round_is_under_way_until_the_result_of_the_shoe() -> None:
    """From the announcement or the first card on. A shoe that reported no result is not waited for again."""
    played = Played()
    assert played.held == ""
    played.say(NATURAL[0])
    assert played.held == "the end of round 1"
    played.say(*NATURAL[1:])
    assert played.held == "the shoe's result of round 1"
    played.say(result("player"))
    assert played.held == ""
    played.take(BETS)
    assert played.held == "the end of round 2"
    played.say(*NATURAL)
    assert played.held == "the shoe's result of round 2"
    played.say(*NATURAL)
    assert played.held == ""


def test_a_question_holds_the_table() -> None:
    """A card is missing in the round."""
    played = Played()
    played.say(*NATURAL[:2], NATURAL[3])
    assert played.held == "an answer in round 1"


def test_new_settings_of_a_running_table_leave_its_link_open() -> None:
    """At a start they close the link that the earlier daemon had."""
    played = Played()
    played.say(NATURAL[0])
    played.take(Configured("{}", ENGINE, "1", running=True))
    played.say(*NATURAL[1:], result("player"))
    assert played.state.table.last is not None
    assert played.state.table.last.published.integrity == "complete"
    assert played.state.table.device.reason == ""
    played.take(Configured("{}", ENGINE, "1"))
    assert played.state.table.device.reason == "the daemon was away"
