"""shoed: driver and daemon for the card shoes and shufflers of baccarat tables."""

from typing import Final

VERSION: Final = "0.1.0"
