"""A driver for the Example shoe: the one object that shoed looks for."""

from typing import Final

from example_shoe.protocol import FAMILY
from example_shoe.session import ExampleSession
from shoed.session.families import Driver

DRIVER: Final = Driver(FAMILY, ExampleSession)
