"""The generated files of the package: completion, man pages and SBOM. `./dev deb --try` tests the package itself."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

import completion
import manual
import sbom
from command_tree import tree
from shoed.cli import COMMANDS
from shoed.model.requests import COMMANDS as TABLE_COMMANDS
from shoed.service import config
from shoed.service.secret_files import Purpose
from tests.patience import PATIENCE_S

ROOT: Final = Path(__file__).resolve().parent.parent
LOCK: Final = (ROOT / "requirements.lock").read_text()
EXAMPLE: Final = ROOT / "packaging/shoed.toml.example"

# The typed words, the last one incomplete; words that must be offered; a word that must not be offered.
TYPED: Final = [
    ("", {*COMMANDS}, "replay-check"),
    ("jour", {"journal"}, "run"),
    ("journal ", {"replay", "show"}, "journal"),
    ("journal show --r", {"--rows", "--round"}, "--check"),
    ("tell bac-901 o", {"open-bets"}, "close-bets"),
    ("rig angel-eye --decks ", {"4", "8"}, "--decks"),
    ("restart --", {"--between-rounds", "--within"}, "--listen"),
]


def completed(shell: str, script: Path, typed: str) -> set[str]:
    """The words that the shell offers for the last typed word."""
    words = ["shoed", *typed.split(" ")]
    if shell == "bash":
        array = " ".join(f"'{word}'" for word in words)
        asked = f"source {script}; COMP_WORDS=({array}); COMP_CWORD={len(words) - 1}; _shoed"
        command = ["bash", "--norc", "-c", f'{asked}; printf "%s\\n" "${{COMPREPLY[@]}}"']
    elif shell == "zsh":  # zsh compares the offered words with the typed word, here the test does
        array = " ".join(f"'{word}'" for word in words)
        offer = 'compadd() { shift; printf "%s\\n" "$@" }; _files() {}'
        command = ["zsh", "-f", "-c", f"{offer}; words=({array}); CURRENT={len(words)}; source {script}"]
    else:
        asked = f'complete --do-complete "{" ".join(words)}"'
        command = ["fish", "--no-config", "--command", f"source {script}; {asked}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return {line.partition("\t")[0] for line in done.stdout.splitlines() if line.startswith(words[-1])}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_completes_each_kind_of_word(shell: str, tmp_path: Path) -> None:
    """Commands, tasks, options, the commands of a table, and the choices of an option; a started word limits them."""
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not on this machine")
    script = tmp_path / "script"
    script.write_text(completion.SHELLS[shell]())
    for typed, wanted, unwanted in TYPED:
        offered = completed(shell, script, typed)
        assert wanted <= offered, typed
        assert unwanted not in offered, typed


def test_bash_completes_the_names_of_files(tmp_path: Path) -> None:
    """After an option or a command with a file, the names of files are offered."""
    script = tmp_path / "script"
    script.write_text(completion.bash())
    (tmp_path / "casino.toml").touch()
    for typed in (f"run --config {tmp_path}/cas", f"check {tmp_path}/cas"):
        assert completed("bash", script, typed) == {f"{tmp_path}/casino.toml"}


def test_each_command_has_a_page_with_all_its_options() -> None:
    """The page of a command has its tasks also; the page of shoed names every command."""
    pages = manual.pages()
    assert set(pages) == {"shoed.1", *(f"shoed-{command}.1" for command in COMMANDS), "shoed.toml.5"}
    for node in tree().walk():
        page = pages["-".join(node.path[:2]) + ".1"]
        for option in node.options:
            assert manual.escaped(", ".join(option.flags)) in page
    assert all(f"\\fB{command}\\fR" in pages["shoed.1"] for command in COMMANDS)
    assert all(command.replace("-", "\\-") in pages["shoed-tell.1"] for command in TABLE_COMMANDS)


def test_the_page_of_the_configuration_has_every_section() -> None:
    """Headings, tables and blocks of docs/configuration.md, without the marks of Markdown."""
    text = manual.CONFIGURATION.read_text()
    page = manual.pages()["shoed.toml.5"]
    fenced = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    for heading in re.findall(r"^## (.*)", fenced, re.MULTILINE):
        assert f'.SH "{manual.inline(heading).upper()}"' in page
    assert "](" not in page
    assert "`" not in page
    for key in re.findall(r"^([a-z_]+) = ", text, re.MULTILINE):
        assert key in page


@pytest.mark.skipif(not shutil.which("groff"), reason="groff is not on this machine")
def test_groff_has_no_warning_about_a_page() -> None:
    """Every page is correct roff."""
    for name, page in manual.pages().items():
        command = ["groff", "-man", "-Tutf8", "-ww", "-K", "utf8"]
        done = subprocess.run(command, input=page, capture_output=True, text=True, timeout=PATIENCE_S, check=True)
        assert done.stderr == "", name


def test_the_sbom_has_every_library_of_the_lock() -> None:
    """It has the fields that CycloneDX requires; each component has its version, purl, licence and hashes."""
    found = json.loads(json.dumps(sbom.document(LOCK)))
    assert (found["bomFormat"], found["specVersion"], found["version"]) == ("CycloneDX", "1.5", 1)
    assert re.fullmatch(r"urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", found["serialNumber"])
    pinned = dict(re.findall(r"^([a-z0-9-]+)==([^ ;]+)", LOCK, re.MULTILINE))
    listed = {each["name"]: each for each in found["components"]}
    assert {"pyserial", "pyusb", "construct", "aiomqtt", "msgspec", "cryptography", "paho-mqtt"} <= set(listed)
    for name, each in listed.items():
        assert (each["type"], each["version"]) == ("library", pinned[name])
        assert each["purl"] == f"pkg:pypi/{name}@{pinned[name]}"
        assert each["licenses"]
        assert each["properties"]
    (ours,) = found["dependencies"]
    refs = [each["bom-ref"] for each in found["components"]]
    assert (ours["ref"], ours["dependsOn"]) == (found["metadata"]["component"]["bom-ref"], refs)
    assert len(refs) == len(set(refs))


def test_the_sbom_refuses_a_version_that_is_not_in_the_lock() -> None:
    """The error names both versions."""
    lock = re.sub(r"^pyusb==[^ ]+", "pyusb==0.1", LOCK, flags=re.MULTILINE)
    with pytest.raises(SystemExit, match=r"pyusb: .* is installed, the lock has 0\.1; install from the lock"):
        sbom.document(lock)


def test_the_example_of_the_configuration_is_valid(tmp_path: Path) -> None:
    """It loads without a change except the state directory, and uses the default state directory of the service."""
    text = EXAMPLE.read_text()
    assert "state_dir" not in text
    file = tmp_path / "shoed.toml"
    file.write_text(text.replace('name = "rws"', f'name = "rws"\nstate_dir = "{tmp_path}"'))
    loaded = config.load(str(file), Purpose.CHECK)
    assert ([table.name for table in loaded.tables], loaded.warnings) == (["bac-901"], ())


@pytest.mark.parametrize("script", ["postinst", "prerm", "postrm"])
def test_the_scripts_of_the_package_are_valid(script: str) -> None:
    """The shell of Debian accepts them."""
    file = ROOT / "packaging/debian" / script
    subprocess.run(["sh", "-n", file], check=True, timeout=PATIENCE_S)
    assert file.read_text().startswith("#!/bin/sh\n")


def test_a_wrong_option_of_the_build_is_refused() -> None:
    """The status is 2, and the message lists the options."""
    command = (ROOT / "packaging/build", "--thrice")
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 2
    assert "--thrice: no such option; the options are --version VERSION and --twice" in done.stderr
