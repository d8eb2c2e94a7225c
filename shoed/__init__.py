"""shoed: driver and daemon for the card shoes and shufflers of baccarat tables."""

VERSION = "0.1.0"  # without an import, which would delay shoed/__main__.py
