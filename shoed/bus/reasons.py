"""The reason codes of a broker, each with a remedy. The codes are those of MQTT 5, chapter 2.4.

Paho translates the codes of MQTT 3.1.1 into these codes.
"""

from typing import Final

from msgspec.structs import replace
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode

from shoed.bus.settings import BrokerSettings
from shoed.errors import BrokerLost, BrokerRefused, BusError

FAILURE: Final = 0x80  # the lowest code of a failure
PROTOCOL_ERROR: Final = 0x82  # paho reports it also for bytes that are not MQTT
KEEPALIVE_TIMEOUT: Final = 0x8D

# Unavailable, busy, quota exceeded, too many connections: another attempt may succeed without a change.
TEMPORARY: Final = frozenset({0x88, 0x89, 0x97, 0x9F})

REMEDIES: Final = {
    0x84: "set version in [mqtt] to a version that the broker supports",
    0x85: "configure the broker to accept the client id shoed-SITE-TABLE",
    0x86: "check user and password_file in [mqtt]",
    0x87: "check user and password_file in [mqtt], and the broker's access list",
    0x8A: "remove the ban at the broker",
    0x8E: "another client uses the same client id: run each table in one shoed only, and give each site its own name",
    0x9A: "enable retained messages at the broker: status, state and question are retained",
    0x9B: "enable QoS 1 at the broker",
    0x9C: "set url in [mqtt] to the present server",
    0x9D: "set url in [mqtt] to the present server",
}


def refusal(what: str, reason: ReasonCode, properties: Properties | None) -> BusError:
    detail = getattr(properties, "ReasonString", None)
    remedy = REMEDIES.get(reason.value, "check the broker's log")
    text = f"{what}: {reason} (0x{reason.value:02X}{f', {detail}' if detail else ''}); {remedy}"
    return (BrokerLost if reason.value in TEMPORARY else BrokerRefused)(text)


def needs_tls(settings: BrokerSettings) -> BrokerRefused:
    return BrokerRefused(
        f"the broker at {settings.place} speaks TLS; set url in [mqtt] to {replace(settings, tls=True).at}, or to a"
        " port without TLS"
    )


def no_connack(at: str, reason: ReasonCode) -> BusError:
    if reason == PROTOCOL_ERROR:
        return BrokerRefused(
            f"{at} does not answer in the configured version of MQTT; set url in [mqtt] to a broker, and version to a"
            " version that the broker supports"
        )
    return BrokerLost(f"{at} closed the connection without an answer; check its log: it may require cert and key")


def cut(at: str, reason: ReasonCode) -> BrokerLost:
    """The end of a connection without a DISCONNECT from the broker. Paho determined the reason."""
    if reason == KEEPALIVE_TIMEOUT:
        return BrokerLost(f"{at} does not answer; check that the broker runs, and that no firewall drops packets")
    if reason == PROTOCOL_ERROR:
        return BrokerLost(f"{at} sent data that are not MQTT; check for a proxy that changes them")
    # observed: mosquitto 2.0.11 sends no reason for a takeover, nor for its own end
    return BrokerLost(
        f"{at} or the network closed the connection; check the broker's log "
        "for a restart and for another client with the same client id"
    )
