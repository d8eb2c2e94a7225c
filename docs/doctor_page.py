"""docs/doctor.md: the checks of `shoed doctor`, from their table, and the parts of the archive of `shoed bundle`."""

from typing import Final

from docs.protocol_page import table
from shoed.cli.bundle import PART_BYTES, PARTS, TOTAL_BYTES
from shoed.service.doctor.catalogue import CHECKS

PAGE: Final = """\
# Examining an installation

This page is generated from `shoed/service/doctor/catalogue.py` and `shoed/cli/bundle.py`. Do not edit it: run
`./dev generate`.

`shoed doctor` examines the machine, the configuration, the state directory, the devices and the broker. Each problem
has its remedy:

```console
$ shoed doctor --config /etc/shoed/shoed.toml
```

- The levels are `ok`, `warning`, `problem` and `skipped`. A skipped check has its reason.
- The exit status is 0 without a problem, also with warnings; 1 with a problem; 2 after wrong use.
- `--json` prints one object: the `version` of this program, the worst `level`, and the `results`. Each result has
  `check`, `level`, `where`, `text` and `remedy`.
- Run doctor as root or as the user of the daemon. Only root sees the programs of other users on a port.
- While the daemon runs, doctor asks the daemon about its ports, because a port has one reader. Without a daemon, doctor
  opens the ports and listens for 3 s, or for the time of `--listen`. Draw cards in this time. Doctor writes nothing to
  a device.
- `--state-dir DIR`, in place of `--config`, examines only the machine, the daemon and the journal.

## Checks

{checks}

## The archive for support

```console
$ shoed bundle --config /etc/shoed/shoed.toml
```

The command makes the file `shoed-SITE-TIME.tar.gz`, or the file that `--output` names, with the mode 0600. An existing
file is not changed. `MANIFEST` in the archive lists each included part, and each missing part with the reason. If a
part is missing because of an unexpected error, `PART.error` has the traceback.

{parts}

- Run the command as root or as the user of the daemon: shoed removes only secrets that it can read, and makes no
  archive without them.
- The archive has no secrets. shoed replaces the password of the broker, the keys of devices and private keys by
  `[REDACTED]`, in each part and in each usual notation: text, hexadecimal, base64, percent-encoding. It also replaces
  passwords in addresses, values of keys such as `password` or `token`, and private keys in PEM format that it finds in
  the configuration or in the log.
- The archive has no data of bettors. The daemon does not process bets, and the journal has no stakes. A command can
  name a bettor who answers a question: this name is replaced. The names of the staff who gave commands remain.
- Each part has at most {part_mb} MB, and all parts together at most {total_mb} MB, before compression. A longer part
  keeps its end.
"""


def page() -> str:
    checks = "\n\n".join(
        f"### {name.value}\n{check.verifies}\n\n*Problem or warning:* {check.meaning}\n\n*Remedy:* {check.remedy}"
        for name, check in CHECKS.items()
    )
    parts = table(("part", "content"), ((f"`{name}`", content) for name, content in PARTS.items()))
    return PAGE.format(
        checks=checks, parts=parts.strip(), part_mb=PART_BYTES // 1_000_000, total_mb=TOTAL_BYTES // 1_000_000
    )
