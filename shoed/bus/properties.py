"""The MQTT 5 properties of a message."""

import functools

from paho.mqtt.properties import Properties


class PackedProperties(Properties):
    """Properties whose bytes are computed once: paho needs more time for them than for the rest of a publish."""

    @functools.cache  # noqa: B019 -- `content_type` keeps the few instances for the life of the process
    def pack(self) -> bytes:
        packed: bytes = super().pack()  # type: ignore[no-untyped-call]
        return packed


@functools.cache
def content_type(packet: int, text: str | None) -> Properties | None:
    if text is None:
        return None
    properties = PackedProperties(packet)  # type: ignore[no-untyped-call]
    properties.ContentType = text
    return properties
