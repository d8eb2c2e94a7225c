"""A family in a package beside shoed: installed by pip in a separate folder, and used like any package."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from shoed.rig.family_kit import CHECKS
from tests.foreign_shoe import PtyShoe
from tests.witnesses import TABLE
from tests.world import SHOED, World

EXAMPLE: Final = Path(__file__).parent / "example_family"
CAPTURE: Final = EXAMPLE / "example_shoe" / "captures" / "round.capture"
LONGEST: Final = 100
TABLES: Final = """
[site]
name = "{site}"
state_dir = "{state_dir}"
[mqtt]
url = "mqtt://{host}:{port}"
[[table]]
name = "{table}"
game = "commission"
[table.shoe]
protocol = "example"
port = "{shoe}"
quiet_after_s = {quiet_after_s}
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package in a separate folder, built and installed from its source."""
    place = tmp_path_factory.mktemp("site")
    alone = ("--no-deps", "--no-index", "--no-build-isolation", "--disable-pip-version-check")
    command = (sys.executable, "-m", "pip", "install", "--quiet", *alone, "--target", place, EXAMPLE)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return place


def output_of(installed: Path, *words: str | Path, status: int = 0) -> list[str]:
    """Return the output of a command with the package on its path, outside this tree."""
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    done = subprocess.run(words, cwd=installed, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stderr
    return (done.stdout or done.stderr).splitlines()


def conformance(installed: Path, *words: str, status: int = 0) -> list[str]:
    return output_of(installed, sys.executable, "-m", "shoed.rig.family_kit", *words, status=status)


def test_it_is_small() -> None:
    """A shoe needs fewer than 100 lines of code."""
    lines = [line for file in (EXAMPLE / "example_shoe").glob("*.py") for line in file.read_text().splitlines()]
    assert len([line for line in lines if line.strip()]) < LONGEST


def test_the_kit_checks_an_installed_package(installed: Path) -> None:
    """It accepts the name of the package and that of the family; every law is named, in text and in JSON."""
    assert conformance(installed, "example-shoe") == [f"kept {law}" for law in CHECKS]
    documents = [json.loads(line) for line in conformance(installed, "example", "--json")]
    assert documents == [{"family": "example", "law": law, "kept": True} for law in CHECKS]


def test_the_kit_reports_the_laws_that_an_installed_package_breaks(installed: Path, tmp_path: Path) -> None:
    """The exit status is 1; the output has the law, the input and the result. One bit of the capture is flipped."""
    for file in ("pyproject.toml", "example_shoe/__init__.py", "example_shoe/protocol.py", "example_shoe/session.py"):
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_bytes((EXAMPLE / file).read_bytes())
    captures = tmp_path / "example_shoe" / "captures"
    captures.mkdir()
    (captures / "round.capture").write_text(CAPTURE.read_text().replace("21 43 38 53 2A", "21 43 39 53 2A"))
    (captures / "round.expect").write_bytes(CAPTURE.with_suffix(".expect").read_bytes())
    (tmp_path / "example_shoe-1.0.dist-info").mkdir()
    for file in ("METADATA", "entry_points.txt"):
        metadata = (installed / "example_shoe-1.0.dist-info" / file).read_bytes()
        (tmp_path / "example_shoe-1.0.dist-info" / file).write_bytes(metadata)
    broken = [json.loads(line) for line in conformance(tmp_path, "example", "--json", status=1)]
    assert [each["law"] for each in broken if not each["kept"]] == ["capture.expected"]
    (refused,) = (each for each in broken if not each["kept"])
    assert refused["given"] == "round.capture"
    assert "the check is b'CE', not b'CF'" in refused["came"]


def test_the_kit_knows_the_installed_packages(installed: Path) -> None:
    """Another name is wrong use, and the message names the known families."""
    (line,) = conformance(installed, "no-such-package", status=2)
    assert line.startswith("no-such-package: no installed package or family has this name; install the package, or")
    assert line.endswith(", example")


def test_decode_reads_its_capture(installed: Path) -> None:
    """The output has the expected observations, except those of the link, which a file does not have."""
    due = observations(CAPTURE.with_suffix(".expect").read_text())
    decoded = output_of(installed, SHOED, "decode", "--protocol", "example", CAPTURE)
    assert decoded == [line for line in due if '"saw":"Link' not in line]


def test_the_expected_output_is_written_with_a_reason(installed: Path, tmp_path: Path) -> None:
    """The tool of the built-in families writes it; the package already expects the same output."""
    shutil.copy(CAPTURE, tmp_path)
    output_of(installed, sys.executable, "-m", "shoed.rig.golden", "Read against the page", tmp_path / CAPTURE.name)
    due, written = (file.with_suffix(".expect").read_text() for file in (CAPTURE, tmp_path / CAPTURE.name))
    assert observations(written) == observations(due)
    assert "because Read against the page" in written


def observations(expectation: str) -> list[str]:
    return [line for line in expectation.splitlines() if line.startswith('{"saw"')]


def test_check_knows_its_settings(installed: Path, tmp_path: Path) -> None:
    """A forbidden value of the family is reported with its line."""
    file = tmp_path / "c.toml"
    known = {"site": "rws", "state_dir": tmp_path, "host": "h", "port": 1883, "table": TABLE, "shoe": "tcp://h:4001"}
    file.write_text(TABLES.format(**known, quiet_after_s=60))
    (good,) = output_of(installed, SHOED, "check", file)
    assert good.startswith(f"{file}: good: {TABLE} at rws")
    file.write_text(TABLES.format(**known, quiet_after_s=1))
    (problem,) = output_of(installed, SHOED, "check", file, status=1)
    assert (
        problem == f"{file}:13: table.shoe.quiet_after_s: 1 is out of range; write a whole number from 10 up to 86400"
    )


async def test_a_table_with_its_shoe_is_dealt(installed: Path, world: World) -> None:
    """Reports go from a serial line through the daemon to the broker; the journal can be replayed."""
    async with PtyShoe(world.place / "tty") as shoe:
        file = world.place / "c.toml"
        broker = world.broker
        places = {"site": world.site, "state_dir": world.state_dir, "host": broker.host, "port": broker.port}
        file.write_text(TABLES.format(**places, table=TABLE, shoe=shoe.port, quiet_after_s=60))
        daemon = await world.launch(file, {"PYTHONPATH": str(installed)})
        await daemon.ready()
        await world.recorder.event("device.online")
        await shoe.send(b"!C8S*CE\n!C3H*BE\n!CJD*D1\n!J1*7B\n!J0*7A\n!C10C*E7\n")
        completed = await world.recorder.event("round.completed")
        assert completed["player"] == {"cards": ["8S", "JD"], "points": 8}
        assert completed["banker"] == {"cards": ["3H", "10C"], "points": 3}
        await world.recorder.event("device.cleared", name="jam")
        assert await daemon.stop() == 0
        await world.all_published()
    check = output_of(installed, SHOED, "journal", "replay", "--check", "--config", file)
    assert len(check) == 1
    assert check[0].startswith(f"{TABLE}: ")
