"""The Example shoe keeps the laws of every family."""

import pytest

from example_shoe import DRIVER
from shoed.rig.family_kit import Law, laws


@pytest.mark.parametrize("law", laws(DRIVER), ids=str)
def test_the_family_keeps(law: Law) -> None:
    """Each law is a separate test."""
    law()
