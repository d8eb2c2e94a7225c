"""Make the Debian package. `packaging/build` runs this file as root, in a Debian of the release of the package.

Theory of operation: the virtual environment is made at its final place, /usr/lib/shoed, because its scripts contain
this place. The tree of the package is a copy of it and of the files of this directory. Nothing in the package depends
on the time or the place of the build: SOURCE_DATE_EPOCH is the only date, and bytecode is compiled at the installation.
The build fails if lintian has a remark without an override.
"""

import gzip
import hashlib
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from email.utils import formatdate
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parent
BUILD = SOURCE.parent
ROOT = BUILD / "root"
VENV = Path("/usr/lib/shoed")
PYTHON = VENV / "bin" / "python3"
EPOCH = int(os.environ["SOURCE_DATE_EPOCH"])
MOST_MB = 60  # installed, with bytecode: about a third of the size is added by the bytecode

# Each file of the package with its place, except the generated files.
FILES = {
    "systemd/shoed.service": "usr/lib/systemd/system/shoed.service",
    "udev/70-shoed.rules": "usr/lib/udev/rules.d/70-shoed.rules",
    "packaging/debian/sysusers": "usr/lib/sysusers.d/shoed.conf",
    "packaging/debian/tmpfiles": "usr/lib/tmpfiles.d/shoed.conf",
    "packaging/shoed.toml.example": "etc/shoed/shoed.toml.example",
    "packaging/debian/copyright": "usr/share/doc/shoed/copyright",
    "packaging/debian/lintian-overrides": "usr/share/lintian/overrides/shoed",
}
COMPLETIONS = {
    "bash": "usr/share/bash-completion/completions/shoed",
    "zsh": "usr/share/zsh/vendor-completions/_shoed",
    "fish": "usr/share/fish/vendor_completions.d/shoed.fish",
}
# Debian 13 does not know this remark, and refuses an override of it. The watchdog, the restart after an update and the
# protection of the service are those of systemd.
UNFIT = {"12": ("--suppress-tags=package-supports-alternative-init-but-no-init.d-script",)}
SCRIPTS = ("postinst", "prerm", "postrm")


def run(*command: str | Path) -> str:
    """What a command prints. If it fails, its errors are on the standard error already."""
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def own(*command: str | Path) -> str:
    """What a script of this directory prints, with the libraries of the package."""
    return run(PYTHON, "-B", HERE / command[0], *command[1:])


def environment() -> None:
    """The virtual environment, from the lock alone; every hash is verified."""
    shutil.rmtree(VENV, ignore_errors=True)
    run(sys.executable, "-m", "venv", "--without-pip", VENV)
    run(sys.executable, "-m", "venv", BUILD / "pip")
    pip = (BUILD / "pip/bin/pip", "--python", PYTHON, "install", "-qq", "--no-compile")
    run(*pip, "--require-hashes", "--only-binary=:all:", "-r", SOURCE / "requirements.lock")
    run(*pip, "--no-deps", "--no-index", "--find-links", SOURCE / "dist", "shoed")
    for script in (VENV / "bin").iterdir():  # of the libraries, and for interactive shells
        if not script.name.startswith("python") and script.name != "shoed":
            script.unlink()
    for file in VENV.rglob(".gitignore"):
        file.unlink()
    shutil.rmtree(VENV / "include")
    PYTHON.unlink()
    PYTHON.symlink_to("../../../bin/python3")  # policy: relative links within /usr
    for record in VENV.glob("lib/python*/site-packages/*.dist-info/RECORD"):
        rows = [row for row in record.read_text().splitlines() if (record.parent.parent / row.split(",")[0]).exists()]
        record.write_text("".join(f"{row}\n" for row in sorted(rows)))


def tree(version: str) -> None:
    shutil.copytree(VENV, ROOT / VENV.relative_to("/"), symlinks=True)
    for source, place in FILES.items():
        put(place, (SOURCE / source).read_bytes())
    (ROOT / "usr/bin").mkdir()
    (ROOT / "usr/bin/shoed").symlink_to("../lib/shoed/bin/shoed")
    doc = "usr/share/doc/shoed"
    put(f"{doc}/changelog.gz", compressed((SOURCE / "CHANGELOG.md").read_bytes()))
    put(f"{doc}/changelog.Debian.gz", compressed(changelog(version).encode()))
    put(f"{doc}/sbom.cdx.json", own("sbom.py", SOURCE / "requirements.lock").encode())
    for shell, place in COMPLETIONS.items():
        put(place, own("completion.py", shell).encode())
    pages = BUILD / "pages"
    pages.mkdir()
    own("manual.py", pages)
    for page in pages.iterdir():
        put(f"usr/share/man/man{page.suffix[1:]}/{page.name}.gz", compressed(page.read_bytes()))


def put(place: str, data: bytes) -> None:
    file = ROOT / place
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)


def compressed(data: bytes) -> bytes:
    return gzip.compress(data, mtime=0)


def maintainer() -> str:
    return next(line for line in (HERE / "debian/control").read_text().splitlines() if line.startswith("Maintainer: "))[
        12:
    ]


def changelog(version: str) -> str:
    return f"""\
shoed ({version}) unstable; urgency=medium

  * The changes of this version are in changelog.gz in this directory.

 -- {maintainer()}  {formatdate(EPOCH)}
"""


def control(version: str) -> None:
    """The control files: the fields, the sums, the list of conffiles, and the scripts."""
    kb = sum(-(-file.lstat().st_size // 1024) for file in ROOT.rglob("*"))
    major, minor, _ = platform.python_version_tuple()
    text = (HERE / "debian/control").read_text()
    fields = {
        "VERSION": version,
        "ARCHITECTURE": run("dpkg", "--print-architecture").strip(),
        "SIZE": str(kb),
        "PYTHON": f"python3 (>= {major}.{minor}), python3 (<< {major}.{int(minor) + 1}~)",
    }
    for name, value in fields.items():
        text = text.replace(f"@{name}@", value)
    sums = "".join(f"{hashlib.md5(file.read_bytes()).hexdigest()}  {file.relative_to(ROOT)}\n" for file in sums_of())
    put("DEBIAN/control", text.encode())
    put("DEBIAN/md5sums", sums.encode())
    put("DEBIAN/conffiles", "".join(f"/{place}\n" for place in FILES.values() if place.startswith("etc/")).encode())
    for script in SCRIPTS:
        put(f"DEBIAN/{script}", (HERE / "debian" / script).read_bytes())


def sums_of() -> Iterator[Path]:
    """The files in the list of sums: dpkg has the sums of conffiles elsewhere."""
    for file in sorted(ROOT.rglob("*")):
        if file.is_file() and not file.is_symlink() and not file.is_relative_to(ROOT / "etc"):
            yield file


def permissions() -> None:
    programs = {VENV / "bin/shoed", *(Path("/DEBIAN") / script for script in SCRIPTS)}
    for file in (ROOT, *ROOT.rglob("*")):
        if not file.is_symlink():
            is_program = file.is_dir() or Path("/") / file.relative_to(ROOT) in programs
            file.chmod(0o755 if is_program else 0o644)


def installed_mb() -> float:
    """The size after the installation, which compiles the modules."""
    run(PYTHON, "-m", "compileall", "-q", VENV)
    kb = int(run("du", "--summarize", "--apparent-size", "--block-size=1K", VENV).split()[0])
    return kb / 1024


def main() -> None:
    environment()
    release = platform.freedesktop_os_release()["VERSION_ID"]
    version = f"{run(PYTHON, '-B', '-c', 'import shoed; print(shoed.VERSION)').strip()}-1~deb{release}"
    tree(version)
    control(version)
    permissions()
    run("dpkg-deb", "--root-owner-group", "--build", ROOT, BUILD)
    (package,) = BUILD.glob("*.deb")
    lint = ("lintian", "--fail-on=error,warning,info", "--display-info", "--allow-root", *UNFIT.get(release, ()))
    if status := subprocess.run((*lint, package), check=False).returncode:
        sys.exit(
            f"{package.name}: lintian ended with status {status}; correct each remark, or override it with its reason"
        )
    mb = installed_mb()
    print(f"{package.name}: {package.stat().st_size / 2**20:.1f} MB, {mb:.1f} MB installed with bytecode")
    if mb > MOST_MB:
        sys.exit(
            f"{package.name}: {mb:.1f} MB installed, the limit is {MOST_MB} MB; remove what the daemon does not use"
        )


if __name__ == "__main__":
    main()
