"""What a broker says no with, and what somebody can do about it. The codes are those of MQTT 5, chapter 2.4.

Paho translates the few of MQTT 3.1.1 into them.
"""

from typing import Final

from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode

from shoed.errors import BrokerLost, BrokerRefused, BusError

FAILURE: Final = 0x80  # the least code that is one
PROTOCOL_ERROR: Final = 0x82  # also what paho makes of bytes that are no MQTT
KEEPALIVE_TIMEOUT: Final = 0x8D

# Unavailable, busy, quota exceeded, too many connections: nobody has to change anything.
TEMPORARY: Final = frozenset({0x88, 0x89, 0x97, 0x9F})

REMEDIES: Final = {
    0x84: "set version in [mqtt] to one the broker speaks",
    0x85: "let the broker accept the client id, which is made of the names of site and table",
    0x86: "check user and password_file in [mqtt]",
    0x87: "check user and password_file in [mqtt], and the broker's access list",
    0x8A: "lift the ban at the broker",
    0x8E: "another client took the same client id: run each table in one shoed only, and give each site its own name",
    0x9A: "let the broker keep retained messages: status and state are such",
    0x9B: "let the broker take QoS 1",
    0x9C: "set url in [mqtt] to the server that serves now",
    0x9D: "set url in [mqtt] to the server that serves now",
}


def refusal(what: str, reason: ReasonCode, properties: Properties | None) -> BusError:
    said = getattr(properties, "ReasonString", None)
    remedy = REMEDIES.get(reason.value, "see the broker's log")
    text = f"{what}: {reason} (0x{reason.value:02X}{f', {said}' if said else ''}); {remedy}"
    return (BrokerLost if reason.value in TEMPORARY else BrokerRefused)(text)


def no_greeting(at: str, reason: ReasonCode) -> BusError:
    if reason == PROTOCOL_ERROR:
        return BrokerRefused(
            f"{at} does not answer in our version of MQTT; set url in [mqtt] to a broker, and version to one it speaks"
        )
    return BrokerLost(f"{at} hung up without a greeting; see its log: it may want mqtts://, or cert and key")


def cut(at: str, reason: ReasonCode) -> BrokerLost:
    """The end of a connection for which the broker gave no reason; this one is paho's."""
    if reason == KEEPALIVE_TIMEOUT:
        return BrokerLost(f"{at} fell silent; see whether it runs and nothing on the way drops packets")
    if reason == PROTOCOL_ERROR:
        return BrokerLost(f"{at} sent what is no MQTT; see whether something on the way changes it")
    # observed: mosquitto 2.0.11 gives no reason for a takeover, nor for its own end
    return BrokerLost(
        f"{at} or the network cut the connection; see the broker's log: "
        "a restart or another client with our client id would look the same"
    )
