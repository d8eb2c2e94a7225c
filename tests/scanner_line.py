"""A scanner's reports, written from the USB documents alone, for the tests of its codec, its session and its table."""

from typing import Final

UP: Final = bytes(8)  # no key is down
ENTER: Final = bytes.fromhex("00 00 28 00 00 00 00 00")
# Modifiers and usage of each key, from the HID usage tables, for a US keyboard.
STROKES: Final = {
    **{letter: (0x02, 0x04 + place) for place, letter in enumerate("ABCDEFGHIJKLMNOPQRSTUVWXYZ")},
    **{letter: (0x00, 0x04 + place) for place, letter in enumerate("abcdefghijklmnopqrstuvwxyz")},
    **{digit: (0x00, 0x1E + place) for place, digit in enumerate("1234567890")},
}


def down(*keys: int, modifiers: int = 0) -> bytes:
    return bytes((modifiers, 0, *keys)).ljust(8, b"\0")


def typing(text: str) -> bytes:
    """Each key goes down and up, without Enter."""
    return b"".join(down(key, modifiers=modifiers) + UP for modifiers, key in (STROKES[each] for each in text))


def scan(text: str) -> bytes:
    return typing(text) + ENTER + UP
