"""The time limit of a wait for an event in a test.

Only a hang reaches it. A test does not depend on the speed of the machine: it waits for the event, and asserts no time.
"""

from typing import Final

PATIENCE_S: Final = 60.0
