"""The MQTT messages of a table: topics, event envelopes, and the retained status, state, question and head."""

from enum import Enum
from typing import Final

import msgspec

from shoed.bus.client import CLOUDEVENT, JSON, MqttMessage
from shoed.journal import StoredEvent
from shoed.journal.heads import Head
from shoed.model.incarnations import WordSince, with_present_ids, word_of
from shoed.model.moments import rfc3339
from shoed.table import Custom, PublicQuestion, PublicState

encode: Final = msgspec.json.Encoder().encode


class Presence(Enum):
    ONLINE = "online"
    OFFLINE = "offline"


class StatusMessage(msgspec.Struct, frozen=True):
    """Whether the daemon is connected to the broker. `version`: the version of shoed.

    `birth`: the time at which shoed began the connection. The status at the beginning of a connection and the MQTT will
    of the same connection have the same `birth`.
    """

    status: Presence
    reason: str
    birth: str
    version: str


class CloudEvent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    specversion: str
    id: str
    source: str
    type: str
    time: str
    datacontenttype: str
    sequence: str
    historical: bool = False  # omitted if false
    data: msgspec.Raw


class TableMessages(msgspec.Struct, frozen=True):
    """The topics and messages of one table."""

    site: str
    table: str
    words: tuple[WordSince, ...]  # of the event ids
    game: str
    version: str
    insurance: bool = True  # whether the table offers insurance
    custom: Custom = Custom()

    @property
    def client_id(self) -> str:
        return f"shoed-{self.site}-{self.table}"

    @property
    def root(self) -> str:
        return f"shoed/v1/{self.site}/{self.table}"

    def status(self, status: StatusMessage) -> MqttMessage:
        return MqttMessage(f"{self.root}/status", encode(status), retain=True, content_type=JSON)

    @property
    def state_topic(self) -> str:
        return f"{self.root}/state"

    def state(self, state: PublicState) -> MqttMessage:
        return MqttMessage(self.state_topic, encode(state), retain=True, content_type=JSON)

    def question(self, question: PublicQuestion | None) -> MqttMessage:
        """The open question. An empty payload removes the retained question."""
        topic = f"{self.root}/question"
        if question is None:
            return MqttMessage(topic, b"", retain=True)
        return MqttMessage(topic, encode(question), retain=True, content_type=JSON)

    def event_id(self, sequence: int) -> str:
        return f"{word_of(self.words, sequence)}-{self.table}-{sequence}"

    def published_data(self, data: str) -> str:
        return with_present_ids(data, self.table, self.words)

    @property
    def head_topic(self) -> str:
        return f"{self.root}/head"

    def head(self, head: Head) -> MqttMessage:
        return MqttMessage(self.head_topic, encode(head), retain=True, content_type=JSON)

    def event(self, event: StoredEvent, *, historical: bool = False) -> MqttMessage:
        envelope = CloudEvent(
            specversion="1.0",
            id=self.event_id(event.sequence),
            source=f"/shoed/{self.site}/{self.table}",
            type=f"shoed.{event.type}",
            time=rfc3339(event.utc_us),
            datacontenttype="application/json",
            sequence=str(event.sequence),
            historical=historical,
            data=msgspec.Raw(self.published_data(event.data).encode()),
        )
        topic = f"{self.root}/event/{event.type.replace('.', '/')}"
        return MqttMessage(topic, encode(envelope), content_type=CLOUDEVENT)
