"""Finds the driver of a family: a built-in driver, or one from an installed package.

A package provides a driver through an entry point of the group `shoed.protocols`. The entry point has the name of
the family, and its object is a `Driver`. The installed packages are searched only for a name that is not built in:
the search takes milliseconds, and these packages contain foreign code. docs/new-family.md shows a complete driver.
"""

import re
from typing import TYPE_CHECKING, Final

from shoed.errors import DriverError, UsageError
from shoed.session.families import DRIVERS, AnyDriver, Driver
from shoed.settings import shown

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP: Final = "shoed.protocols"
NAME: Final = re.compile(r"[a-z0-9-]{1,32}")
# The keys of every `[table.shoe]`. A setting of a family must have a different name.
SHOE_KEYS: Final = frozenset(
    {"protocol", "firmware", "port", "allow_orders", "min_draw_gap_ms", "settings", "key_file"}
)


def installed() -> tuple["EntryPoint", ...]:
    """Return the entry points of all installed packages, usable or not."""
    from importlib.metadata import entry_points  # the import takes 8 ms; a start without driver packages saves them

    return tuple(entry_points(group=GROUP))


def names() -> tuple[str, ...]:
    return (*DRIVERS, *sorted({point.name for point in installed()} - DRIVERS.keys()))


def find(name: str) -> AnyDriver:
    if name in DRIVERS:
        return DRIVERS[name]
    points = [point for point in installed() if point.name == name]
    if not points:
        known = ", ".join(names())
        raise DriverError(
            f"the family {shown(name)} does not exist", f"choose one of {known}, or install the package of the family"
        )
    if len(points) > 1:
        owners = " and ".join(map(owner, points))
        raise DriverError(f"{owners} each provide a family {shown(name)}", "uninstall all but one")
    return load(points[0])


def named(name: str | None) -> AnyDriver:
    """Find the driver for an option of a command line."""
    if not name:
        raise UsageError(f"the option --protocol is missing; add --protocol FAMILY, with one of {', '.join(names())}")
    if name not in DRIVERS and name not in (known := names()):
        raise UsageError(f"--protocol {name}: this family does not exist; choose one of {', '.join(known)}")
    return find(name)


def owner(point: "EntryPoint") -> str:
    """Return the name and version of the package."""
    return f"{point.dist.name} {point.dist.version}" if point.dist is not None else point.module


def load(point: "EntryPoint") -> AnyDriver:
    """Load the driver of a package, or raise a DriverError that names the package and its defect."""
    whose = f"{owner(point)}: entry point {shown(point.name)} of {GROUP}"
    if point.name in DRIVERS:
        raise DriverError(f"{whose}: a built-in family has this name", "choose another name in that package")
    if not NAME.fullmatch(point.name):
        raise DriverError(
            f"{whose}: this is not a valid family name", "use 1 to 32 of the characters a-z, 0-9 and - in that package"
        )
    try:
        driver = point.load()
    except Exception as error:  # any error of this import is an error of that package
        what = " ".join(f"{type(error).__name__}: {error}".split())
        remedy = "install its requirements, install its version for this shoed, or uninstall it"
        raise DriverError(f"{whose}: {point.value} cannot be imported: {what}", remedy) from error
    if not isinstance(driver, Driver):
        remedy = "point the entry point at a shoed.session.families.Driver in that package"
        raise DriverError(f"{whose}: {point.value} has the type {type(driver).__name__}, not Driver", remedy)
    if driver.family.name != point.name:
        remedy = "use the same name for the entry point and the family in that package"
        raise DriverError(f"{whose}: its driver is of the family {shown(driver.family.name)}", remedy)
    return driver
