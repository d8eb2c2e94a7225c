"""Received names in a line for people: a control character must not begin a line of its own, or command a terminal."""


def printable(line: str) -> str:
    r"""The line with escapes in place of control characters, as in `\n`."""
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in line)
