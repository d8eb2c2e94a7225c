"""The intended differences in the events and the state of a device's line."""

from typing import Any, Final

from shoed.model.observations import Device
from tests.intended import Difference, Verdict


def device_is_heard_by_its_last_byte(found: Difference) -> Verdict | None:
    """If a timer or the end of the link rejects a frame, `heard_at` stays the moment of the last byte of the frame."""
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


def rejections_are_counted_for_each_reason(found: Difference) -> Verdict | None:
    """The first rejection for a new reason is published at once, so the numbers of all later events differ."""
    if "events" not in found.parts or not set(found.parts) <= {"events", "state", "wake"}:
        return None
    ours, oracle = found.both("events")
    if not any(each["type"] == "line.rejected" for each in (*ours, *oracle)):
        return None
    states = [without_moment(each) for each in found.both("state")]
    same = without_rejections(ours) == without_rejections(oracle) and states[0] == states[1]
    return Verdict.ENDS if same else None


def without_rejections(events: Any) -> list[Any]:  # noqa: ANN401  # JSON
    return [(each["type"], each["data"]) for each in events if each["type"] != "line.rejected"]


def quiet_is_published_once(found: Difference) -> Verdict | None:
    """`device/quiet` is published once while the line stays quiet, so the numbers of all later events differ."""
    if "events" not in found.parts or not set(found.parts) <= {"events", "state"}:
        return None
    ours, oracle = found.both("events")
    # `last_round_is_kept` compares `last_round`.
    states = [each | {"sequence": "", "last_round": None} for each in found.both("state")]
    if len(oracle) <= len(ours) or states[0] != states[1]:
        return None
    others = [
        [(each["type"], each["data"]) for each in some if each["type"] != "device.quiet"] for some in (ours, oracle)
    ]
    return Verdict.ENDS if others[0] == others[1] else None


PREDICATES: Final = (
    device_is_heard_by_its_last_byte,
    rejections_are_counted_for_each_reason,
    quiet_is_published_once,
)
