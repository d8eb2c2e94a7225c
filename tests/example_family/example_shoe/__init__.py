"""A driver for the Example shoe: the object that shoed loads."""

from typing import Final

from example_shoe.protocol import FAMILY
from example_shoe.session import ExampleSession
from shoed.session.families import Driver

DRIVER: Final = Driver(FAMILY, ExampleSession)
