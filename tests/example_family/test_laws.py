"""The Example shoe keeps the laws of every family."""

import pytest

from example_shoe import DRIVER
from shoed.rig.conformance import Law, laws


@pytest.mark.parametrize("law", laws(DRIVER), ids=str)
def test_the_family_keeps(law: Law) -> None:
    """Each is tried alone."""
    law()
