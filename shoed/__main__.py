"""`python -m shoed`, the same as `shoed`."""

import sys

from shoed.cli import main

sys.exit(main())
