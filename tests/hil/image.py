"""The disk of the guest: Debian with a real kernel, systemd, udev, mosquitto, and shoed of this tree.

Theory of operation: each layer is a file or a directory in `.cache/hil`, named after a digest of its inputs. The base
(mmdebstrap, then the package of the kernel) depends on the list of packages. The libraries depend on the lock file. The
disk is a copy of both with shoed, its unit, its rules and the agent; `mke2fs -d` writes it without a mount. The kernel
starts without a boot loader. A small initrd beside the disk has the drivers of the disk.
"""

import hashlib
import lzma
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable
from functools import partial
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from shlex import quote
from typing import Final, NamedTuple

HERE: Final = Path(__file__).resolve().parent
ROOT: Final = HERE.parent.parent
CACHE: Final = ROOT / ".cache" / "hil"

SUITE: Final = "bookworm"
PYTHON_VERSION: Final = "3.11"  # of this suite
PACKAGES: Final = (
    *("systemd-sysv", "udev", "kmod", "busybox-static"),
    *("python3", "libusb-1.0-0", "mosquitto", "mosquitto-clients"),
)
KERNEL: Final = "linux-image-amd64"  # the kernel for clouds has no drivers of serial adapters
NEEDED: Final = {
    "qemu-system-x86": "qemu-system-x86_64",
    "qemu-utils": "qemu-img",
    "mmdebstrap": "mmdebstrap",
    "e2fsprogs": "mke2fs",
}
SBIN: Final = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"))
NOT_COPIED: Final = ("usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/info")
# The modules of the kernel that the guest keeps. The others would be most of the disk.
MODULES: Final = (
    *(f"drivers/{name}" for name in ("usb", "hid", "virtio", "block", "char", "input", "rtc", "cdrom")),
    *("fs/ext4", "fs/jbd2", "fs/mbcache.ko", "fs/autofs", "fs/fuse", "lib", "crypto", "arch"),
)
IN_INITRD: Final = ("virtio_pci", "virtio_blk", "ext4", "crc32c_generic", "virtio_console")
PACKAGE: Final = os.environ.get("HIL_DEB", "")  # install this package instead of the tree
PROGRAM: Final = ("shoed", "firmware_protocols")
INSTALLED: Final = (
    *("requirements.lock", "systemd/shoed.service", "udev/70-shoed.rules"),
    *("tests/hil/agent.py", "tests/hil/shoed.toml"),
)
DISK_BYTES: Final = 1 << 30
XZ: Final = b"\xfd7zXZ\x00"
ELF: Final = b"\x7fELF"

INIT: Final = """\
#!/bin/busybox sh
/bin/busybox mount -t devtmpfs dev /dev
for module in /modules/*; do /bin/busybox insmod "$module"; done
until [ -e /dev/vda ]; do /bin/busybox usleep 1000; done
/bin/busybox mount -t ext4 /dev/vda /disk
exec /bin/busybox switch_root /disk /sbin/init
"""
AGENT_UNIT: Final = """\
[Unit]
Description=The agent of the tests
DefaultDependencies=no
After=systemd-udevd.service
[Service]
ExecStart=/usr/bin/python3 /opt/agent.py
Restart=always
RestartSec=1
[Install]
WantedBy=multi-user.target
"""
BROKER_SETTINGS: Final = "listener 1883 127.0.0.1\nallow_anonymous true\n"
SCRIPT: Final = f"""\
#!/usr/bin/python3 -I
import sys
sys.path.insert(0, "/opt/shoed/lib/python{PYTHON_VERSION}/site-packages")
from shoed.cli import main
sys.exit(main())
"""
MASKED: Final = (
    *("getty.target", "systemd-timesyncd.service", "apt-daily.timer", "apt-daily-upgrade.timer", "e2scrub_all.timer"),
    *("e2scrub_reap.service", "fstrim.timer", "dpkg-db-backup.timer", "systemd-random-seed.service"),
    *("systemd-binfmt.service", "proc-sys-fs-binfmt_misc.automount", "proc-sys-fs-binfmt_misc.mount"),
)


class Missing(Exception):
    """The rig cannot run on this machine; the text names the missing part and the remedy."""


class Image(NamedTuple):
    """A disk, with the kernel and the initrd that start it. `digest` identifies all of them."""

    disk: Path
    kernel: Path
    initrd: Path
    digest: str


def digest(*parts: str | bytes | Path) -> str:
    """A digest of texts and files."""
    whole = hashlib.sha256()
    for part in parts:
        data = part.read_bytes() if isinstance(part, Path) else part.encode() if isinstance(part, str) else part
        whole.update(hashlib.sha256(data).digest())
    return whole.hexdigest()[:16]


def tool(name: str) -> str:
    found = shutil.which(name, path=SBIN)
    if found is None:
        raise Missing(f"{name} is missing; run: {apt_line(absent())}")
    return found


def absent() -> list[str]:
    """The Debian packages of the host that are not installed."""
    return [package for package, program in NEEDED.items() if shutil.which(program, path=SBIN) is None]


def apt_line(packages: Iterable[str]) -> str:
    return f"sudo apt-get install -y --no-install-recommends {' '.join(packages)}"


def run(*command: str | Path, env: dict[str, str] | None = None, cwd: Path | None = None) -> str:
    """Run a command at a low priority, and return its output. An error has the end of the output."""
    done = subprocess.run(
        ["nice", "-n", "10", *map(str, command)],  # noqa: S607
        env={**os.environ, "PATH": SBIN, **(env or {})},
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        tail = "\n".join(done.stdout.splitlines()[-20:])
        raise Missing(f"{command[0]} failed with status {done.returncode}:\n{tail}")
    return done.stdout


def built(kind: str, key: str) -> Path | None:
    """The path of a layer if it exists. Otherwise the layers of the same kind are removed, and the path is free."""
    path = CACHE / f"{kind}-{key}"
    if path.exists():
        return path
    for old in CACHE.glob(f"{kind}-*"):
        shutil.rmtree(old) if old.is_dir() else old.unlink()
    return None


def layer(kind: str, key: str, build: Callable[[Path], None]) -> Path:
    """A layer from the cache, or built at a temporary path and then renamed."""
    if found := built(kind, key):
        return found
    print(f"hil: building {kind}", flush=True)
    path, temporary = CACHE / f"{kind}-{key}", CACHE / f"{kind}-new"
    build(temporary)
    return temporary.rename(path)


# ---------------------------------------------------------------------------------------------- the layers


FETCH_KERNEL: Final = """\
set -eu
cd "$1/boot"
export APT_CONFIG="$MMDEBSTRAP_APT_CONFIG"
apt-get download "$(apt-cache depends --important KERNEL | sed -n 's/.*Depends: //p' | head -n 1)"
dpkg-deb --fsys-tarfile linux-image-*.deb | tar -x -C "$1" --keep-directory-symlink ./boot ./lib
rm linux-image-*.deb
"""


def base(to: Path) -> None:
    """Debian with the packages, and the files of the kernel's package. Its scripts would make a large initrd."""
    mirror = run("apt-get", "indextargets", "--format", "$(REPO_URI)", "Label: Debian").partition("\n")[0]
    if not mirror:
        raise Missing("apt has no package lists; run: sudo apt-get update")
    script = to.with_suffix(".sh")
    script.write_text(FETCH_KERNEL.replace("KERNEL", KERNEL))
    excluded = (f"--dpkgopt=path-exclude=/{path}/*" for path in NOT_COPIED)
    shutil.rmtree(to, ignore_errors=True)
    run(
        *("mmdebstrap", "--mode=root", "--variant=minbase", f"--include={','.join(PACKAGES)}", *excluded),
        *(f'--customize-hook=sh {quote(str(script))} "$1"', SUITE, to, mirror),
    )
    script.unlink()
    modules = next((to / "usr/lib/modules").iterdir())
    for file in (modules / "kernel").rglob("*.ko"):
        if not str(file.relative_to(modules / "kernel")).startswith(MODULES):
            file.unlink()
    run("chroot", to, "depmod", modules.name)


def kernel(root: Path, to: Path) -> None:
    """The kernel without its compression, which would take seconds of an emulated processor."""
    packed = next((root / "boot").glob("vmlinuz-*")).read_bytes()
    plain = lzma.LZMADecompressor().decompress(packed[packed.index(XZ) :])
    if not plain.startswith(ELF):
        raise Missing(f"{KERNEL}: the kernel is not compressed with xz; adapt tests/hil/image.py")
    to.write_bytes(plain)


def initrd(root: Path, to: Path) -> None:
    """A cpio archive with a shell, and the drivers of the disk in the order of their dependencies."""
    modules = next((root / "usr/lib/modules").iterdir())
    needs = {}
    for line in (modules / "modules.dep").read_text().splitlines():
        path, _, first = line.partition(":")
        needs[Path(path).stem.replace("-", "_")] = (path, first.split())
    ordered: list[str] = []
    for name in IN_INITRD:
        if name in needs:  # else it is in the kernel
            path, required = needs[name]
            ordered += [each for each in (*reversed(required), path) if each not in ordered]
    entries = [("dev", 0o40755, b""), ("disk", 0o40755, b""), ("bin", 0o40755, b""), ("modules", 0o40755, b"")]
    entries += [("init", 0o100755, INIT.encode()), ("bin/busybox", 0o100755, (root / "usr/bin/busybox").read_bytes())]
    entries += [
        (f"modules/{number:02}.ko", 0o100644, (modules / path).read_bytes()) for number, path in enumerate(ordered)
    ]
    to.write_bytes(b"".join(map(cpio_entry, range(len(entries) + 1), (*entries, ("TRAILER!!!", 0, b"")))))


def cpio_entry(inode: int, entry: tuple[str, int, bytes]) -> bytes:
    """An entry of a cpio archive in the format `newc`: header, name and content, each filled to four bytes."""
    name, mode, data = entry
    fields = (inode, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0)
    head = b"070701" + b"".join(b"%08x" % field for field in fields) + name.encode() + b"\0"
    return head + bytes(-len(head) % 4) + data + bytes(-len(data) % 4)


def libraries(to: Path) -> None:
    """The runtime dependencies of shoed, for the Python of the guest."""
    spec = spec_from_loader("dev", SourceFileLoader("dev", str(ROOT / "dev")))
    assert spec is not None
    assert spec.loader is not None
    dev = module_from_spec(spec)
    spec.loader.exec_module(dev)
    run(
        *(dev.UV, "pip", "install", "--require-hashes", "--target", to, "--python-version", PYTHON_VERSION),
        *("--only-binary", ":all:", "-r", dev.LOCK),
        env=dev.pip_configuration() | os.environ,
    )


def install_tree(root: Path) -> None:
    """Install shoed from this tree, without a package."""
    run("chroot", root, "useradd", "--system", "--home-dir", "/var/lib/shoed", "--no-create-home", "shoed")
    place = root / "opt/shoed"
    site = place / f"lib/python{PYTHON_VERSION}/site-packages"
    site.parent.mkdir(parents=True)
    shutil.copytree(layer("libraries", digest(ROOT / "requirements.lock", PYTHON_VERSION), libraries), site)
    for package in PROGRAM:
        shutil.copytree(ROOT / package, site / package, ignore=shutil.ignore_patterns("__pycache__"))
    run("chroot", root, "python3", "-m", "compileall", "-q", "/opt/shoed")
    (place / "bin").mkdir()
    (place / "bin/shoed").write_text(SCRIPT)
    (place / "bin/shoed").chmod(0o755)
    (root / "usr/bin/shoed").symlink_to("/opt/shoed/bin/shoed")
    shutil.copy(ROOT / "systemd/shoed.service", root / "etc/systemd/system")
    shutil.copy(ROOT / "udev/70-shoed.rules", root / "etc/udev/rules.d")


def install_package(root: Path, package: Path) -> None:
    shutil.copy(package, root / "shoed.deb")
    run("chroot", root, "dpkg", "--install", "/shoed.deb")
    (root / "shoed.deb").unlink()


def disk(source: Path, to: Path) -> None:
    with tempfile.TemporaryDirectory(dir=CACHE) as place:
        root = Path(place) / "root"
        run("cp", "--archive", "--reflink=auto", source, root)
        shutil.rmtree(root / "boot")
        install_package(root, Path(PACKAGE)) if PACKAGE else install_tree(root)
        (root / "etc/hosts").write_text("127.0.0.1 localhost\n::1 localhost\n")  # minbase has none
        (root / "etc/hostname").write_text("guest\n")
        (root / "etc/fstab").write_text("/dev/vda / ext4 defaults 0 1\n")
        (root / "etc/mosquitto/conf.d/guest.conf").write_text(BROKER_SETTINGS)
        (root / "etc/shoed").mkdir(exist_ok=True)
        shutil.copy(HERE / "agent.py", root / "opt/agent.py")
        shutil.copy(HERE / "shoed.toml", root / "etc/shoed/shoed.toml")
        units = root / "etc/systemd/system"
        (units / "agent.service").write_text(AGENT_UNIT)
        for unit in MASKED:
            (units / unit).unlink(missing_ok=True)
            (units / unit).symlink_to("/dev/null")
        run("chroot", root, "systemctl", "enable", "agent.service", "shoed.service")
        to.write_bytes(b"")
        os.truncate(to, DISK_BYTES)
        run("mke2fs", "-q", "-t", "ext4", "-d", root, to)


RECIPE: Final = digest(Path(__file__))  # before a person edits this file during a run


def image() -> Image:
    """The disk of this tree, from the cache if nothing changed."""
    if missing := absent():
        raise Missing(f"{', '.join(missing)} missing; run: {apt_line(missing)}")
    if PACKAGE and not Path(PACKAGE).is_file():
        raise Missing(f"HIL_DEB: {PACKAGE} is not a file; write the path of a Debian package of shoed")
    CACHE.mkdir(parents=True, exist_ok=True)
    recipe = digest(SUITE, KERNEL, *PACKAGES, *MODULES, FETCH_KERNEL)
    found = CACHE / f"base-{recipe}"
    if not found.exists() and os.geteuid() != 0:
        raise Missing("the disk of the guest is made by root; run once as root: ./dev hil")
    root = layer("base", recipe, base)
    started = digest(recipe, INIT, *IN_INITRD)
    files = sorted(each for name in (*PROGRAM, *INSTALLED) for each in sources(ROOT / name))
    if PACKAGE:
        files.append(Path(PACKAGE))
    names = "\n".join(str(each) for each in files)
    whole = digest(started, RECIPE, names, *files)
    return Image(
        layer("disk", whole, partial(disk, root)),
        layer("kernel", started, partial(kernel, root)),
        layer("initrd", started, partial(initrd, root)),
        whole,
    )


def sources(path: Path) -> list[Path]:
    found = path.rglob("*") if path.is_dir() else (path,)
    return [each for each in found if each.is_file() and "__pycache__" not in each.parts]
