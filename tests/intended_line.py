"""The intended differences of what a device's line shows."""

from typing import Any, Final

from shoed.observations import Device
from tests.intended import Difference, Verdict


def device_is_heard_by_its_last_byte(found: Difference) -> Verdict | None:
    """A frame that a timer or the end of the link rejects leaves `heard_at` at the moment of its last byte."""
    ours, oracle = found.both("state")
    if found.parts != ("state",) or without_moment(ours) != without_moment(oracle):
        return None
    both = [(of_device(ours, device), of_device(oracle, device)) for device in Device]
    return Verdict.PASSES if all(one <= other for one, other in both) else None


KEYS: Final = {Device.SHOE: "device", Device.SHUFFLER: "shuffler"}


def of_device(state: Any, device: Device) -> str:  # noqa: ANN401  # JSON
    return (state[KEYS[device]] or {}).get("heard_at") or ""


def without_moment(state: Any) -> Any:  # noqa: ANN401  # JSON
    return state | {key: state[key] and state[key] | {"heard_at": None} for key in KEYS.values()}


PREDICATES: Final = (device_is_heard_by_its_last_byte,)
