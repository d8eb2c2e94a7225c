"""The published contract as a page, rendered from the very types that are published: `docs/events.md`.

What a type cannot say (the words that a text field may hold, what a phase means) stands here as
data beside it. Nothing here is read by the daemon.
"""

from collections.abc import Iterable, Mapping
from inspect import cleandoc
from typing import Final

import msgspec
from msgspec import inspect
from msgspec.structs import fields as declared

from firmware_protocols.family import Reason
from shoed.bus.messages import CloudEvent, Presence, Status, Voice
from shoed.cards import Card
from shoed.device_events import DeviceOrderAnswered, EventData, LineRejected, OrderResult
from shoed.events import (
    TYPES,
    CardDrawn,
    CardSetAside,
    Points,
    RoundCompleted,
    RoundResumed,
    RoundStarted,
    Seen,
    ShoeStarted,
)
from shoed.journal import StoredEvent
from shoed.observations import Outcome, Pair, Place
from shoed.step import DeviceOrderKind
from shoed.table import PublicState, TableState, public_state
from shoed.table.phase import MOVES, Move, Phase
from shoed.table.question import PublicQuestion

PHASES: Final[Mapping[Phase, str]] = {
    Phase.IDLE: "no round in this shoe yet",
    Phase.BETTING: "bets are open; no card has been drawn",
    Phase.CLOSED: "bets are closed; no card has been drawn",
    Phase.DEALING: "a card is due",
    Phase.SUSPENDED: "the round waits for a person, and every further card is set aside until it is decided",
    Phase.COMPLETE: "every card due is drawn; the shoe's result is awaited or has come",
    Phase.CORRECTED: "complete, and a correction stands in the place of the first account",
    Phase.SETTLED: "every bet is paid; without bets, when the next round or shoe begins",
    Phase.VOIDED: "it has no result, and every stake goes back",
    Phase.ABANDONED: "a new round or a new shoe began over it: it has no result",
}
MOVE_MEANINGS: Final[Mapping[Move, str]] = {
    Move.ANNOUNCED: "bets were opened",
    Move.BETS_CLOSED: "by command, or by the first card",
    Move.OPENING_CARD: "a card reported as Player's first, or the next if that one was missed or left over",
    Move.DUE_CARD: "the card that is due, and another is due after it",
    Move.LAST_CARD: "the card that is due, and none is due after it",
    Move.DOUBT: "a question that only a person can answer",
    Move.RESUMED: "every such question is answered, and a card is due",
    Move.STILL_BETTING: "the same, before the bets were closed",
    Move.STILL_CLOSED: "the same, after that and before the first card",
    Move.COMPLETED: "the same, and none is due",
    Move.VOID: "the rule book, or a person, voids the round",
    Move.CORRECTION: "the result is another one than was told",
    Move.REOPENED: "the same, and a card is due after all",
    Move.SETTLEMENT: "by command, or because something new begins",
    Move.GIVEN_UP: "something new begins before every card due was drawn, or reports were lost",
    Move.NEXT: "the next round or shoe",
}
SET_ASIDE: Final[Mapping[str, str]] = {
    Place.BURN.value: "burnt",
    Place.FIRST_CARD.value: "the first card of the shoe",
    Place.LOCKED.value: "drawn while the shoe was locked",
    Place.ERROR.value: "drawn while the shoe was in error",
    Place.SET_UP.value: "drawn while the shoe was in set-up",
    Place.OVERDRAW.value: "an excess card, told after its error was cleared; perhaps for the second time",
    Place.UNKNOWN.value: "drawn to a place that is not known; `reported.unknown` is the value that the shoe reported",
    "not-due": "not the slot that is due by its reported hand and index, or not readable; the round is suspended",
    "no-round": "reported for a hand before the first round of the shoe, or after an abandoned round",
}
SHOE_INTEGRITY: Final[Mapping[str, str]] = {
    "complete": "the shoe was seen from its start, and no report outside its rounds can be lost",
    "partial": "it was first seen midway, or reports may be lost while no round was open; so until the next shoe",
}
# The words that a field may hold, where its type does not say, or says more: (type, field) -> word -> meaning.
WORDS: Final[Mapping[tuple[type, str], Mapping[str, str]]] = {
    (CardSetAside, "reason"): SET_ASIDE,
    (Seen, "unknown"): {
        "target ...": "an Angel Eye shoe reported a card in the game with a target of this number, which is not known",
        "situation ...": "an Angel Eye shoe reported a card outside the game in a situation of this number",
    },
    (RoundResumed, "phase"): {
        "betting": "bets are open still",
        "closed": "they are closed, and no card is drawn yet",
        "dealing": "a card is due",
        "complete": "every card due is drawn",
    },
    (RoundStarted, "opened_by"): {
        "announcement": "the dealer's, before any card",
        "card": "a card, without an announcement: Player's first, or the next if that one was missed or left over",
    },
    (ShoeStarted, "shoe_integrity"): SHOE_INTEGRITY,
    (RoundStarted, "shoe_integrity"): SHOE_INTEGRITY,
    (PublicState, "shoe_integrity"): SHOE_INTEGRITY,
    (RoundCompleted, "outcome"): {
        Outcome.PLAYER.value: "Player has more points",
        Outcome.BANKER.value: "Banker has more points",
        Outcome.TIE.value: "both have the same",
    },
    (RoundCompleted, "integrity"): {
        "complete": "every card due was seen, and nothing can have been missed in between",
        "partial": "every card due was seen, and nothing proves that no report was missed in between",
    },
    (LineRejected, "reason"): {
        Reason.JUNK.value: "outside any frame",
        Reason.TORN.value: "begun and not finished",
        Reason.OVER_LONG.value: "longer than any frame",
        Reason.BAD_CHECK.value: "its check is wrong",
        Reason.UNKNOWN_COMMAND.value: "a command that is not known",
        Reason.UNDECLARED_CODE.value: "a code that is not known",
        Reason.MALFORMED.value: "a length, a bit or a character that cannot be",
        Reason.ECHO.value: "an order of a host, sent back",
        Reason.UNKNOWN_VERSION.value: "a version of the protocol that is not known",
        Reason.UNSEALED.value: "on a line with a key, and outside the secure channel",
        Reason.NOT_AUTHENTIC.value: "not what the device said in this session, or a copy of what it said",
        Reason.WRONG_ROLE.value: "a shoe where a shuffler is expected, or the other way round",
    },
    (DeviceOrderAnswered, "result"): {
        OrderResult.ACKNOWLEDGED.value: "the device acknowledged the order",
        OrderResult.REPORTED.value: "a report of the device shows the effect; not every device sends one",
        OrderResult.REFUSED.value: "the device refused the order, and `detail` says why",
        OrderResult.SILENT.value: "no answer arrived before `order_timeout_ms`, or before the link closed",
    },
    (DeviceOrderAnswered, "order"): {
        DeviceOrderKind.LOCK.value: "lock the device",
        DeviceOrderKind.UNLOCK.value: "unlock the device",
        DeviceOrderKind.CLEAR_FAULT.value: "clear the fault of the device",
    },
    (Status, "reason"): {
        "started": "online for the first time",
        "reconnected": "online again: the broker or the line to it was away",
        "stopped": "offline: the daemon was told to stop, and said all before",
        "connection lost": "offline: the will, which the broker says for us",
        "table failed: ...": "offline: a defect of ours ended this table",
        "journal failed: ...": "offline: nothing more can be recorded, so nothing more is told",
    },
}

VOICE: Final = Voice("rws", "bac-901", "k3v9x2mq", "commission", "0.1.0")
AT_US: Final = 1_700_000_000_123_456
EXAMPLE: Final = CardDrawn(
    shoe=1, round=12, index=1, hand=Pair.PLAYER, card=Card.S8, points=Points(8, 0), provenance=4711
)

INTRODUCTION: Final = """\
<!-- Written by docs/generate.py from shoed/contract.py; do not edit: run ./dev generate. -->

# What shoed tells the world

Fields may be added later, never changed: read those that you know and pass over the rest. Cards are written in ASCII,
rank and suit: `8S`, `10H`, `AC`. Times are UTC with microseconds.

## Topics

MQTT 5, or 3.1.1 by a setting; QoS 1. Each table has a connection of its own, with the client id
`shoed-<site>-<table>`, and publishes under `shoed/v1/<site>/<table>`:
"""
AFTER_TOPICS: Final = """
After every CONNACK come status, state and question, then the events that the broker had not acknowledged, in order.

## The envelope of an event

CloudEvents 1.0, structured JSON. `id` is `<journal>-<table>-<sequence>`: the same id always carries the same `data`,
however often it is delivered, and no other event ever carries it, even if the journal is deleted. `sequence` is a
decimal string from 1, without a gap in each table, and order is `sequence` alone. `time` is when the last byte of the
first good copy of the report arrived; a card that waited at its device was drawn earlier, see [Measured](#measured).
`historical` is there, and true, if the event was committed before the present
connection to the broker; nothing else differs then.
"""

QUESTIONS: Final = """
Answered by `decide`, see [commands](commands.md). [Questions](questions.md) lists each kind of question, its choices
with their effects, and an example.
"""


def events_page() -> str:
    shapes: dict[type, None] = {}
    parts = [
        INTRODUCTION,
        topics(),
        AFTER_TOPICS,
        fields(CloudEvent, shapes),
        f"\n```json\n{pretty(VOICE.event(stored(EXAMPLE), historical=False).payload)}\n```\n",
        "\n## Events\n",
    ]
    for noun in dict.fromkeys(name.partition(".")[0] for name in TYPES.values()):
        parts.append(f"\n### {noun}\n")
        for data, name in TYPES.items():
            if name.startswith(f"{noun}."):
                parts += [f"\n#### `{name.replace('.', '/')}`\n", described(data), fields(data, shapes)]
    parts += ["\n## State\n", described(PublicState), fields(PublicState, shapes), phases()]
    parts += ["\n## Question\n", described(PublicQuestion), fields(PublicQuestion, shapes), QUESTIONS]
    parts += ["\n## Status\n", described(Status), fields(Status, shapes)]
    parts += ["\n## Shapes\n\nWhat the tables above name by its name.\n"]
    done: set[type] = set()
    while todo := [shape for shape in shapes if shape not in done]:
        for shape in todo:
            parts += [f"\n### {shape.__name__}\n", described(shape), fields(shape, shapes)]
            done.add(shape)
    return "".join(parts)


def topics() -> str:
    voice = Voice("<site>", "<table>", "", "", "")
    messages = (
        (voice.status(Status(Presence.ONLINE, "", "", "")), "the daemon's presence: plain JSON, [below](#status)"),
        (
            voice.state(public_state("commission", TableState())),
            "all that a late joiner needs: plain JSON, [below](#state)",
        ),
        (voice.event(stored(EXAMPLE), historical=False), "one event: CloudEvents, [below](#events)"),
        (
            voice.question(None),
            "what a person has to say, or may: plain JSON, [below](#question); empty when no question is open",
        ),
    )
    rows = ((f"`{it.topic}`", "yes" if it.retain else "no", what) for it, what in messages)
    return "\n" + table(("topic", "retained", "payload"), rows).replace("card/drawn", "<noun>/<verb>")


def phases() -> str:
    arrows: dict[tuple[Phase, Phase], list[str]] = {}
    for (phase, move), to in MOVES.items():
        arrows.setdefault((phase, to), []).append(move.value)
    diagram = "\n".join(f"    {a.value} --> {b.value}: {', '.join(moves)}" for (a, b), moves in arrows.items())
    return (
        "\n### Phases\n\n"
        + table(("phase", "meaning"), ((f"`{phase.value}`", text) for phase, text in PHASES.items()))
        + f"\n```mermaid\nstateDiagram-v2\n    [*] --> {Phase.IDLE.value}\n{diagram}\n```\n\n"
        + table(("move", "meaning"), ((f"`{move.value}`", text) for move, text in MOVE_MEANINGS.items()))
    )


def described(shape: type) -> str:
    text = cleandoc(shape.__doc__ or "")
    return f"\n{text}\n" if text else ""


def fields(shape: type, shapes: dict[type, None]) -> str:
    """A table of a struct's fields, in the order in which they are written."""
    columns = declared(shape)
    rows, lists = [], ""
    for each in columns:
        words = WORDS.get((shape, each.name))
        rows.append(
            (f"`{each.encode_name}`", "text, see below" if words else worded(inspect.type_info(each.type), shapes))
        )
        if words:
            meanings = "".join(f"- `{word}`: {meaning}\n" for word, meaning in words.items())
            lists += f"\n`{each.encode_name}` is one of:\n\n{meanings}"
    return f"\n{table(('field', 'type'), rows)}{lists}"


def worded(of: inspect.Type, shapes: dict[type, None]) -> str:
    """A type in words; structs are collected, to be told of once."""
    match of:
        case inspect.UnionType(types=types):
            return " or ".join(worded(each, shapes) for each in types)
        case inspect.EnumType(cls=cls) if cls is Card:
            return "card"
        case inspect.EnumType(cls=cls):
            return ", ".join(f"`{each.value}`" for each in cls)
        case inspect.VarTupleType(item_type=item):
            return f"list of: {worded(item, shapes)}"
        case inspect.StructType(cls=cls):
            shapes[cls] = None
            return f"[{cls.__name__}](#{cls.__name__.lower()})"
        case inspect.DictType(value_type=value):
            return f"{worded(value, shapes)} by name"
        case _:
            return NAMES[type(of)]


NAMES: Final[Mapping[type[inspect.Type], str]] = {
    inspect.IntType: "integer",
    inspect.StrType: "text",
    inspect.BoolType: "true or false",
    inspect.NoneType: "null",
    inspect.RawType: "the event's own data",
}


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (head, ("---",) * len(head), *rows))


def stored(data: EventData) -> StoredEvent:
    return StoredEvent(96, TYPES[type(data)], AT_US, msgspec.json.encode(data).decode())


def pretty(payload: bytes) -> str:
    return msgspec.json.format(payload, indent=2).decode()
