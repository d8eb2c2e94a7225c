"""`./dev bench [NAME...]`: every benchmark with its ratio, its bar, and ok or over. No test depends on a time.

Without names, all of NAMES run, the most important first, in about two minutes on two idle cores.
"""

import sys
from importlib import import_module
from typing import Final

NAMES: Final = ("latency", "footprint", "idle", "decoding", "judging", "rules", "replaying", "detection", "journal")
OTHERS: Final = ("writes", "restart")  # minutes each: not in a run without names

chosen = sys.argv[1:] or NAMES
if unknown := [name for name in chosen if name not in NAMES + OTHERS]:
    sys.exit(f"./dev bench: {unknown[0]}: no such benchmark; known: {', '.join(NAMES + OTHERS)}")
for name in chosen:
    import_module(f"benchmarks.{name}").run()
