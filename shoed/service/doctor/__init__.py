"""`shoed doctor`: the checks of an installation, each with its remedy."""
