"""Golden captures: the bytes of a device's line, with the expected output beside them.

Theory of operation: a capture becomes a script of inputs. The script is played through the family's session and a
table. Time is the capture's own time: nothing waits, and the engine is woken at the moments that it names. The output
is the observations and then the events, one line of JSON each. `NAME.expect` holds it. The file is written again only
with a reason, which stays in the file: `./dev bless REASON FILE...`.
"""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

import firmware_protocols
from firmware_protocols.family import Family, Settings, declared
from shoed.engine import ENGINE, Engine
from shoed.errors import CaptureError, ShoedError, UsageError
from shoed.model.events import Event
from shoed.model.moments import Now
from shoed.model.observations import AnyObservation, Device
from shoed.model.step import AnyInput, Configured, LinkDown, LinkUp, Received, Woken
from shoed.ports.capture import Capture, Direction, Header, parse
from shoed.session import SessionState, drivers
from shoed.settings import shown
from shoed.table import TableSettings
from shoed.typed_json import typed
from shoed.watch import WatchSettings

FAMILIES_HERE: Final = Path(firmware_protocols.__file__).parent
FIRST_LINE: Final = "shoed-expect 1"
BECAUSE: Final = "because "
PORT: Final = "capture"
MIN_DRAW_GAP_MS: Final = 250
WRONG_USE: Final = 2


class ScriptedInput(NamedTuple):
    at_us: int  # since the start of the capture
    input: AnyInput


Script = tuple[ScriptedInput, ...]


class GoldenOutput(NamedTuple):
    observations: tuple[AnyObservation, ...]
    events: tuple[Event, ...]


def captures(folder: Path = FAMILIES_HERE) -> list[Path]:
    return sorted(folder.glob("*/captures/*.capture"))


def load(path: Path) -> Capture:
    return parse(path.read_text(encoding="utf-8"), str(path))


def settings_of(header: Header, family: Family[Settings] | None = None) -> Settings:
    """Return the family's settings with those of the header: `settings copies=1 bcc_span=whole`, `device shuffler`."""
    of = (family or drivers.find(header.family).family).settings
    given = dict(header.others).get("settings", "")
    pairs = dict(pair.partition("=")[::2] for pair in given.split())
    for key in pairs:
        if key not in declared(of):
            known = ", ".join(declared(of))
            raise CaptureError(f"settings {given}: {header.family} has no setting {key}; choose one of {known}")
    try:
        return typed(pairs, of, strict=False).for_role(device_of(header).value)
    except msgspec.ValidationError as error:
        raise CaptureError(
            f"settings {given}: {error}; write KEY=VALUE as in PROTOCOL.md of {header.family}"
        ) from error


def device_of(header: Header) -> Device:
    """The role of the device at its table: `device shuffler`; without this line a shoe."""
    role = dict(header.others).get("device", Device.SHOE.value)
    try:
        return Device(role)
    except ValueError:
        known = ", ".join(each.value for each in Device)
        raise CaptureError(f"device {role}: this role does not exist; choose one of {known}") from None


def script(capture: Capture) -> Script:
    """Return the device's bytes on a link that opens before them and closes after them."""
    device = device_of(capture.header)
    records = [
        ScriptedInput(record.at_us, Received(record.data, device=device))
        for record in capture.records
        if record.direction is Direction.FROM_DEVICE
    ]
    end_us = capture.records[-1].at_us if capture.records else 0
    first, last = LinkUp(PORT, device=device), LinkDown("capture ended", device=device)
    return ScriptedInput(0, first), *records, ScriptedInput(end_us, last)


class Player:
    """One table with the device that a header describes."""

    def __init__(self, header: Header) -> None:
        driver, settings = drivers.find(header.family), settings_of(header)
        line, device = driver.family.line, device_of(header)
        if device.value not in driver.family.roles:
            known = ", ".join(driver.family.roles)
            raise CaptureError(f"device {device.value}: {header.family} does not have this role; choose one of {known}")
        shuffles = device is Device.SHUFFLER
        self.engine: Engine[SessionState] = Engine(
            driver.session(settings.for_role(Device.SHOE.value), allow_orders=False),
            WatchSettings(MIN_DRAW_GAP_MS, byte_us=0 if line is None else line.seconds_per_byte * 1_000_000),
            TableSettings("commission", PORT, "golden", shuffler_port=PORT if shuffles else None),
            driver.session(settings.for_role(Device.SHUFFLER.value), allow_orders=False) if shuffles else None,
        )
        self.state = self.engine.begin()
        self.observations: list[AnyObservation] = []
        self.events: list[Event] = []
        self.take(Configured("{}", ENGINE, "golden"), Now(0, 0))

    def take(self, incoming: AnyInput, now: Now) -> None:
        self.state, step = self.engine.step(self.state, incoming, now)
        if step is not None:
            self.observations += step.observations
            self.events += step.events

    def pass_time(self, until_us: int) -> None:
        """Wake the engine at every moment that it names, up to this one."""
        while (due := self.engine.wake_at(self.state)) is not None and due <= until_us * 1000:
            self.take(Woken(), Now(due // 1000, due))


def play(header: Header, moments: Iterable[ScriptedInput]) -> GoldenOutput:
    player = Player(header)
    for at_us, incoming in moments:
        player.pass_time(at_us)
        player.take(incoming, Now(at_us, at_us * 1000))
    return GoldenOutput(tuple(player.observations), tuple(player.events))


def lines(played: GoldenOutput) -> list[str]:
    """Return the lines of an `.expect` file."""
    events = ({"event": each.type, "utc_us": each.utc_us, "data": each.data} for each in played.events)
    return [msgspec.json.encode(each).decode() for each in (*played.observations, *events)]


class Expected(NamedTuple):
    reasons: tuple[str, ...]  # one for each time the file was written, the oldest first
    lines: tuple[str, ...]


def expected(text: str, name: str) -> Expected:
    head, _, body = text.partition("\n\n")
    first, *reasons = head.split("\n")
    if first != FIRST_LINE:
        raise CaptureError(f"{name}:1: {shown(first[:40])} is a wrong first line; write {FIRST_LINE}")
    for number, line in enumerate(reasons, start=2):
        if not line.removeprefix(BECAUSE).strip() or not line.startswith(BECAUSE):
            raise CaptureError(f"{name}:{number}: {shown(line[:40])} is not a reason; write {BECAUSE}REASON")
    if not reasons:
        raise CaptureError(f"{name}:2: the reason is missing; write {BECAUSE}REASON")
    return Expected(tuple(line.removeprefix(BECAUSE) for line in reasons), tuple(body.splitlines()))


def text_of(expectation: Expected) -> str:
    head = [FIRST_LINE, *(BECAUSE + reason for reason in expectation.reasons), ""]
    return "".join(f"{line}\n" for line in (*head, *expectation.lines))


def bless(reason: str, capture: Path) -> bool:
    """Write the present output as the expected output; return False if nothing changed."""
    file, found = capture.with_suffix(".expect"), load(capture)
    reasons: tuple[str, ...] = ()
    now = tuple(lines(play(found.header, script(found))))
    if file.exists():
        before = expected(file.read_text(encoding="utf-8"), str(file))
        if before.lines == now:
            return False
        reasons = before.reasons
    file.write_text(text_of(Expected((*reasons, reason), now)), encoding="utf-8")
    return True


def main(arguments: Sequence[str]) -> int:
    reason, *files = (*arguments, "")
    paths = [Path(file).with_suffix(".capture") for file in files if file]
    if not paths or not reason.strip() or not reason.isprintable() or Path(reason).suffix in {".capture", ".expect"}:
        raise UsageError("usage: python -m shoed.rig.golden REASON FILE...; the files keep the reason")
    for path in paths:
        print(f"{path.with_suffix('.expect')}: {'written' if bless(reason, path) else 'unchanged'}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (ShoedError, OSError) as error:
        print(error, file=sys.stderr)
        sys.exit(WRONG_USE if isinstance(error, UsageError) else 1)
