"""How what is committed looks on the broker: topics, envelopes, and the plain messages beside them."""

from enum import Enum
from typing import Final

import msgspec

from shoed.bus.client import CLOUDEVENT, JSON, Message
from shoed.journal import StoredEvent
from shoed.now import rfc3339
from shoed.table import Custom, PublicQuestion, PublicState

encode: Final = msgspec.json.Encoder().encode


class Presence(Enum):
    ONLINE = "online"
    OFFLINE = "offline"


class Status(msgspec.Struct, frozen=True):
    """The daemon's presence. Birth and will of one connection carry the same `birth`."""

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
    historical: bool = False  # left out unless true
    data: msgspec.Raw


class Voice(msgspec.Struct, frozen=True):
    """One table's name on the broker, and its messages under it."""

    site: str
    table: str
    word: str  # of the journal
    game: str
    version: str
    insurance: bool = True  # is offered at this table
    custom: Custom = Custom()

    @property
    def client_id(self) -> str:
        return f"shoed-{self.site}-{self.table}"

    @property
    def root(self) -> str:
        return f"shoed/v1/{self.site}/{self.table}"

    def status(self, status: Status) -> Message:
        return Message(f"{self.root}/status", encode(status), retain=True, content_type=JSON)

    def state(self, state: PublicState) -> Message:
        return Message(f"{self.root}/state", encode(state), retain=True, content_type=JSON)

    def question(self, question: PublicQuestion | None) -> Message:
        """What a person has to say; an empty payload takes the retained question away."""
        topic = f"{self.root}/question"
        if question is None:
            return Message(topic, b"", retain=True)
        return Message(topic, encode(question), retain=True, content_type=JSON)

    def event(self, event: StoredEvent, *, historical: bool) -> Message:
        envelope = CloudEvent(
            specversion="1.0",
            id=f"{self.word}-{self.table}-{event.sequence}",
            source=f"/shoed/{self.site}/{self.table}",
            type=f"shoed.{event.type}",
            time=rfc3339(event.utc_us),
            datacontenttype="application/json",
            sequence=str(event.sequence),
            historical=historical,
            data=msgspec.Raw(event.data.encode()),
        )
        topic = f"{self.root}/event/{event.type.replace('.', '/')}"
        return Message(topic, encode(envelope), content_type=CLOUDEVENT)
