"""The conformance kit: it checks on a driver all laws of a device family.

    import pytest
    from shoed.rig.family_kit import laws

    @pytest.mark.parametrize("law", laws(DRIVER), ids=str)
    def test_the_family_keeps(law):
        law()

For an installed package: `python -m shoed.rig.family_kit PACKAGE`. The kit cuts, flips and scatters the frames of the
family's captures. A broken law reports the input and the result. Random values have one seed, so every failure can
be repeated.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from shoed.rig.family_kit import captures, codec, sessions
from shoed.rig.family_kit.subject import BrokenLaw, Subject
from shoed.session.families import Driver, F, S, any_driver

CHECKS: Final[dict[str, Callable[[Subject], None]]] = {
    "family.declarations": codec.declarations,
    "family.framing": codec.framing,
    "capture.readable": captures.readable,
    "capture.coverage": captures.coverage,
    "capture.expected": captures.expected,
    "codec.whole": codec.whole,
    "codec.bytewise": codec.bytewise,
    "codec.split": codec.split,
    "codec.paced": codec.paced,
    "codec.junk": codec.junk,
    "codec.recovers": codec.recovers,
    "codec.flip": codec.flip,
    "codec.arbitrary": codec.arbitrary,
    "codec.bounded": codec.bounded,
    "session.fold": sessions.fold,
    "session.restored": sessions.restored,
    "session.cutting": sessions.cutting,
    "session.anytime": sessions.anytime,
    "session.waking": sessions.waking,
    "session.evidence": sessions.evidence,
    "session.silent": sessions.silent,
    "session.sending": sessions.sending,
    "session.bounded": sessions.bounded,
}


class Law(NamedTuple):
    """One law, for one driver. Calling it raises BrokenLaw if the driver breaks it."""

    name: str
    subject: Subject

    def __str__(self) -> str:
        return self.name

    @property
    def title(self) -> str:
        return f"{self.subject.family.name}-{self.name}"

    def __call__(self) -> None:
        self.subject.law = self.name
        try:
            CHECKS[self.name](self.subject)
        except BrokenLaw:
            raise
        except Exception as error:  # any exception of the driver breaks the law that called it
            raise self.subject.broken(f"{type(error).__name__}: {error}") from error

    def broken(self) -> BrokenLaw | None:
        try:
            self()
        except BrokenLaw as broken:
            return broken
        return None


def laws(driver: Driver[F, S]) -> list[Law]:
    subject = Subject(any_driver(driver))
    return [Law(name, subject) for name in CHECKS]
