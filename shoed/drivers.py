"""The drivers that there are: the built-in ones, and those that other packages bring.

A package brings one by an entry point of the group `shoed.protocols`, named as its family, whose
object is a `Driver`. The machine's packages are looked through only for a name that is not built in:
that takes milliseconds, and what they hold is somebody else's code. docs/new-family.md shows one whole.
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


def brought() -> tuple["EntryPoint", ...]:
    """Usable or not."""
    from importlib.metadata import entry_points  # 8 ms, which a start without other packages need not spend

    return tuple(entry_points(group=GROUP))


def names() -> tuple[str, ...]:
    return (*DRIVERS, *sorted({point.name for point in brought()} - DRIVERS.keys()))


def find(name: str) -> AnyDriver:
    if name in DRIVERS:
        return DRIVERS[name]
    points = [point for point in brought() if point.name == name]
    if not points:
        known = ", ".join(names())
        raise DriverError(f"no family is called {shown(name)}", f"known: {known}; install the package that brings it")
    if len(points) > 1:
        owners = " and ".join(map(owner, points))
        raise DriverError(f"{owners} each bring a family {shown(name)}", "uninstall all but one")
    return load(points[0])


def asked(name: str | None) -> AnyDriver:
    """The one that somebody named on the command line."""
    if not name:
        raise UsageError(f"no family is named; give --protocol FAMILY, of {', '.join(names())}")
    if name not in DRIVERS and name not in (known := names()):
        raise UsageError(f"--protocol {name}: no such family; known: {', '.join(known)}")
    return find(name)


def owner(point: "EntryPoint") -> str:
    """The package, as it was installed."""
    return f"{point.dist.name} {point.dist.version}" if point.dist is not None else point.module


def load(point: "EntryPoint") -> AnyDriver:
    """Somebody else's driver, or a DriverError that says whose and what is wrong with it."""
    whose = f"{owner(point)}: entry point {shown(point.name)} of {GROUP}"
    if point.name in DRIVERS:
        raise DriverError(f"{whose}: the name is taken by a built-in family", "its package has to choose another")
    if not NAME.fullmatch(point.name):
        raise DriverError(f"{whose}: that is no name of a family", "its package has to use 1 to 32 of a-z, 0-9 and -")
    try:
        driver = point.load()
    except Exception as error:  # whatever their import raises, it is theirs
        what = " ".join(f"{type(error).__name__}: {error}".split())
        remedy = "install what it needs, or a version of it for this shoed, or uninstall it"
        raise DriverError(f"{whose}: {point.value} cannot be imported: {what}", remedy) from error
    if not isinstance(driver, Driver):
        remedy = "its package has to name a shoed.session.families.Driver there"
        raise DriverError(f"{whose}: {point.value} is a {type(driver).__name__}, and no Driver", remedy)
    if driver.family.name != point.name:
        remedy = "its package has to give both the same name"
        raise DriverError(f"{whose}: its family is called {shown(driver.family.name)}", remedy)
    return driver
