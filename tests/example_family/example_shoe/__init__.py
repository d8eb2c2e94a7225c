"""A driver for the Example shoe: the one object that shoed looks for."""

from typing import Final, get_args

from example_shoe.protocol import FAMILY, Report
from example_shoe.session import ExampleSession
from shoed.session.families import Driver

DRIVER: Final = Driver(FAMILY, ExampleSession, get_args(Report))
