"""The SBOM of the package in the form of CycloneDX 1.5, from the lock: `sbom.py LOCK` prints it.

A component is a package of the lock that is installed for this interpreter, with its licence. Its hashes are all hashes
that the lock accepts. The run fails if an installed version differs from the lock.
"""

import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email import message_from_string
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

from shoed import VERSION

Json = Mapping[str, object]
PINNED = re.compile(r"^(?P<name>[a-z0-9-]+)==(?P<version>[^ ;]+)(?P<rest>.*(?:\n +--hash.*)+)", re.MULTILINE)


def licences_of(found: Distribution) -> list[Json]:
    """The licence that the package declares: an SPDX expression, or free text, which may be a whole licence."""
    meta = message_from_string(str(found.read_text("METADATA")))
    if expression := meta.get("License-Expression"):
        return [{"expression": expression}]
    classes = [each.split(" :: ")[-1] for each in meta.get_all("Classifier", ()) if each.startswith("License ::")]
    text = (meta.get("License") or ", ".join(classes)).strip().partition("\n")[0]
    return [{"license": {"name": text}}] if text else []


def components(lock: str) -> Iterator[Json]:
    for pin in PINNED.finditer(lock):
        name, version = pin["name"], pin["version"]
        try:
            found = distribution(name)
        except PackageNotFoundError:  # its marker is false in this release
            continue
        if found.version != version:
            raise SystemExit(f"{name}: {found.version} is installed, the lock has {version}; install from the lock")
        purl = f"pkg:pypi/{name}@{version}"
        hashes = re.findall(r"sha256:([0-9a-f]{64})", pin["rest"])
        yield {
            "type": "library",
            "bom-ref": purl,
            "name": name,
            "version": version,
            "purl": purl,
            "licenses": licences_of(found),
            "properties": [{"name": "shoed:accepted-sha256", "value": each} for each in hashes],
        }


def document(lock: str) -> Json:
    listed = list(components(lock))
    ours = f"pkg:pypi/shoed@{VERSION}"
    licences = [{"license": {"id": "Apache-2.0"}}]
    contents = json.dumps([each["bom-ref"] for each in (*listed, {"bom-ref": ours})])
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": uuid5(NAMESPACE_URL, contents).urn,  # equal contents have an equal number
        "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), UTC).isoformat(),
            "component": {
                "type": "application",
                "bom-ref": ours,
                "name": "shoed",
                "version": VERSION,
                "purl": ours,
                "licenses": licences,
            },
        },
        "components": listed,
        "dependencies": [{"ref": ours, "dependsOn": [each["bom-ref"] for each in listed]}],
    }


if __name__ == "__main__":
    print(json.dumps(document(Path(sys.argv[1]).read_text()), indent=2, ensure_ascii=False))
