"""`python -m shoed.rig.family_kit PACKAGE [--json]`: the laws that the package's families keep or break."""

import argparse
import sys
from collections.abc import Iterator

import msgspec

from shoed.errors import ShoedError, UsageError
from shoed.rig.family_kit import laws
from shoed.session import drivers
from shoed.session.families import DRIVERS, AnyDriver


def found(package: str) -> Iterator[AnyDriver]:
    """Return the drivers of an installed package, or the driver of a family by its name."""
    if package in DRIVERS:
        yield DRIVERS[package]
        return
    points = [
        point
        for point in drivers.installed()
        if point.name == package or (point.dist is not None and normal(point.dist.name) == normal(package))
    ]
    if not points:
        raise UsageError(
            f"{package}: no installed package or family has this name; "
            f"install the package, or choose one of {', '.join(drivers.names())}"
        )
    yield from map(drivers.load, points)


def normal(package: str) -> str:
    return package.lower().replace("_", "-").replace(".", "-")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m shoed.rig.family_kit", description=__doc__)
    parser.add_argument("package", metavar="PACKAGE", help="the name of an installed package, or of a family")
    parser.add_argument("--json", action="store_true", help="one JSON document for each law")
    asked = parser.parse_args(arguments)
    status = 0
    for driver in found(asked.package):
        for law in laws(driver):
            broken = law.broken()
            status = status or int(broken is not None)
            if asked.json:
                document = {"family": driver.family.name, "law": law.name, "kept": broken is None}
                if broken is not None:
                    document |= {"given": broken.given, "came": broken.result}
                print(msgspec.json.encode(document).decode(), flush=True)
            else:
                print(f"kept {law}" if broken is None else f"BROKEN {broken}", flush=True)
    return status


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except ShoedError as error:
        print(error, file=sys.stderr)
        sys.exit(2 if isinstance(error, UsageError) else 1)
