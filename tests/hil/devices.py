"""The devices of the tests: their tables in the guest, and the words of `shoed rig`."""

from typing import Final, NamedTuple


class HilDevice(NamedTuple):
    table: str
    words: tuple[str, ...]
    opens_ms: int = 500  # the pause after the host begins to read


# The kernel reads a keyboard before shoed opens it, and a scanner does not notice a host.
KEYBOARD_MS: Final = 5000
BULK: Final = HilDevice("bulk", ("open-shoe", "--serial=OS-1"))
FTDI: Final = HilDevice("ftdi", ("angel-eye", "--serial=AE-1"))
CDC_ACM: Final = HilDevice("acm", ("angel-eye", "--usb=cdc-acm", "--serial=AE-2"))
SCANNER_A: Final = HilDevice("scanner-a", ("scanner", "--serial=SC-A"), KEYBOARD_MS)
SCANNER_B: Final = HilDevice("scanner-b", ("scanner", "--serial=SC-B"), KEYBOARD_MS)
BY_TRANSPORT: Final = {"bulk": BULK, "ftdi": FTDI, "cdc-acm": CDC_ACM, "keyboard": SCANNER_A}

LONG_MS: Final = 86_400_000  # a device stays connected until its test ends


def scenario(*steps: str, stays: bool = True) -> str:
    """A scenario file; each step is its lines. Without `stays`, the device is unplugged after the last step."""
    last = (f"after_ms = {LONG_MS}\npull_ms = 0",) if stays else ()
    return "".join(f"[[step]]\n{step}\n" for step in (*steps, *last))


def deal(*cards: str, after_ms: int = 500) -> str:
    return f"after_ms = {after_ms}\ndeal = {list(cards)}"
