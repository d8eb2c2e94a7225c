"""The removal of secrets from text and bytes that leave the machine.

Theory of operation: there are two ways. A Redactor knows the secrets of the configuration: it replaces each of
them, in each usual notation, wherever it is. Patterns find secrets that a person wrote in a wrong place: a password in
an address, a value of a key such as `password`, a private key in PEM format, the digits of a device key. The names of
bettors are replaced, too.
"""

import base64
import binascii
import json
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final
from urllib.parse import quote, quote_plus

from shoed.service.secret_files import CREDENTIAL, DIRECTORY

MARK: Final = "[REDACTED]"
MASK: Final = MARK.encode()
FEWEST: Final = 4  # characters of base64 that are searched for within a longer text
SHORT: Final = 6  # a shorter secret is replaced as a whole word only: it may be a part of any word

PEM: Final = re.compile(
    rb"-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|\Z)", re.DOTALL
)
WORDS: Final = (
    (PEM, MASK),
    # USER:PASSWORD@ or USER@ of an address; a password may contain "@", ":" and "/"
    (re.compile(rb"(?i)\b([a-z][a-z0-9+.-]{0,20}:(?://)?)[^\s\"']{1,300}@"), rb"\1" + MASK + b"@"),
    # NAME = VALUE and NAME: VALUE; the keys `password_file` and `key_file` have the name of a file
    (
        re.compile(
            rb"(?i)((?:password|passwd|passphrase|secret|token|psk)[\"']?\s*[=:]\s*)"
            rb"((?s:\"\"\".*?\"\"\"|'''.*?''')|\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*'|[^\s,;]+)"
        ),
        rb"\1" + MASK,
    ),
)
STRING: Final = rb"\"(?:[^\"\\]|\\.)*\""  # in JSON
QUOTED_MASK: Final = rb"\1" + b'"' + MASK + b'"'
# The names of bettors in commands, events, answers and questions. "others" means all other bettors.
BETTORS: Final = (
    (re.compile(rb"(\"bettor\":\s*)(?!\"others\")" + STRING), QUOTED_MASK),
    (re.compile(rb"(\"(?:name|author)\":\s*)" + STRING + rb"(?=,\s*\"role\":\s*null)"), QUOTED_MASK),
    (re.compile(rb"(\"detail\":\s*\")(?:[^\"\\]|\\.)*( has chosen already\")"), rb"\1" + MASK + rb"\2"),
    (re.compile(rb"(the question is for ).*?, not for (?:[^\"\\]|\\.)*"), rb"\1" + MASK),
)
DEVICE_KEY: Final = (re.compile(rb"\b[0-9A-Fa-f]{32}\b"), MASK)

FILE_KEYS: Final = ("password_file", "key_file", "key")
FILE_KEY: Final = re.compile(rb"""(?m)^\s*(?:password_file|key_file|key)\s*=\s*["']+([^"'\n]+)["']""")
LONGEST: Final = 64 * 1024  # bytes of a file with a secret
BODY: Final = re.compile(rb"[A-Za-z0-9+/=]{16,}")  # a line of a PEM file
DIGITS: Final = re.compile(rb"\s*((?:[0-9A-Fa-f]{2})+)\s*")


class Redactor:
    """Replaces the secrets that it knows. `secrets` are the contents of files, and passwords."""

    def __init__(self, secrets: Iterable[bytes]) -> None:
        found = {form for secret in secrets for form in notations(secret)}
        self.words = sorted(found, key=len, reverse=True)  # a notation may be a part of another one

    def record(self, data: bytes) -> bytes:
        """Bytes of devices and recorded rows: their digits are data, not keys."""
        return _without((*WORDS, *BETTORS), self._known(data))

    def text(self, data: bytes) -> bytes:
        return _without((*WORDS, *BETTORS, DEVICE_KEY), self._known(data))

    def _known(self, data: bytes) -> bytes:
        for word in self.words:
            if len(word) >= SHORT:
                data = data.replace(word, MASK)
            else:
                data = re.sub(rb"(?<![A-Za-z0-9])" + re.escape(word) + rb"(?![A-Za-z0-9])", MASK, data)
        return data


def _without(patterns: Iterable[tuple[re.Pattern[bytes], bytes]], data: bytes) -> bytes:
    for pattern, mask in patterns:
        data = pattern.sub(mask, data)
    return data


def notations(secret: bytes) -> Iterator[bytes]:
    """The secret in each notation in which a program may print it."""
    for each in dict.fromkeys((secret, secret.strip())):
        if not each:
            continue
        yield each
        for digits in (each.hex(), each.hex(" "), each.hex(":")):
            yield digits.encode()
            yield digits.upper().encode()
        yield repr(each)[2:-1].encode()
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            yield from _base64(each, encode)
        try:
            text = each.decode()
        except UnicodeDecodeError:
            continue
        for escaped in (json.dumps(text), json.dumps(text, ensure_ascii=False), repr(text)):
            yield escaped[1:-1].encode()
        yield quote(text, safe="").encode()
        yield quote_plus(text).encode()


def _base64(secret: bytes, encode: Callable[[bytes], bytes]) -> Iterator[bytes]:
    """The characters that depend on the secret alone, at each of the three positions in a longer text."""
    yield encode(secret).rstrip(b"=")
    for before in range(3):
        first = -(-before * 8 // 6)
        characters = (before + len(secret)) * 8 // 6
        if characters - first >= FEWEST:
            yield encode(bytes(before) + secret)[first:characters]


# --- the secrets of a configuration


def secrets_of(file: Path, unit: str = "shoed") -> list[bytes]:
    """The secrets of a configuration, also of one with errors. A file that does not exist may be the secret itself.

    An OSError names the file that cannot be read.
    """
    found: list[bytes] = []
    credentials = Path(os.environ.get(DIRECTORY) or f"/run/credentials/{unit}.service")
    for named in files_of(file.read_bytes()):
        is_credential = named.startswith(CREDENTIAL)
        place = credentials / named.removeprefix(CREDENTIAL) if is_credential else file.parent / named
        try:
            with place.open("rb") as of:
                found += contents(of.read(LONGEST))
        except PermissionError:
            raise
        except (OSError, ValueError):  # not a file
            if is_credential:  # the secret is unknown: no archive
                raise
            found.append(named.encode())
    return found


def files_of(data: bytes) -> set[str]:
    """The files with secrets, by the text of the configuration and, if it is TOML, by its values."""
    named = {match[1].decode(errors="replace") for match in FILE_KEY.finditer(data)}
    with suppress(tomllib.TOMLDecodeError, UnicodeDecodeError):
        named.update(_named(tomllib.loads(data.decode())))
    return named


def _named(value: object) -> Iterator[str]:
    match value:
        case dict():
            for key, each in value.items():
                if key in FILE_KEYS and isinstance(each, str):
                    yield each
                yield from _named(each)
        case list():
            for each in value:
                yield from _named(each)
        case _:  # a value without parts
            return


def contents(data: bytes) -> Iterator[bytes]:
    """The content of a file with a secret: as it is, the bytes of its digits, and the lines of a PEM file."""
    yield data.strip()
    if (digits := DIGITS.fullmatch(data)) is not None:
        yield bytes.fromhex(digits[1].decode())
    if b"-----BEGIN" in data:
        lines = BODY.findall(data)
        yield from lines
        with suppress(binascii.Error):
            yield base64.b64decode(b"".join(lines))
