"""The conformance kit: every law that a device family has to keep, tried on a driver.

    import pytest
    from shoed.rig.conformance import laws

    @pytest.mark.parametrize("law", laws(DRIVER), ids=str)
    def test_the_family_keeps(law):
        law()

or, for a package that is installed: `python -m shoed.rig.conformance PACKAGE`. The frames that are cut,
flipped and strewn are those of the family's captures. A law that is broken tells what was given and what
came of it; what is random comes from one seed, so that it can be tried again.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from shoed.rig.conformance import captures, codec, sessions
from shoed.rig.conformance.subject import BrokenLaw, Subject
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
    """One law, for one driver. Calling it raises BrokenLaw where it is."""

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
        except Exception as error:  # whatever somebody else's code raises breaks the law that called it
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
