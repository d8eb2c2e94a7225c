"""Generate docs/events.md: the published messages, from the types that shoed publishes.

This module adds what a type does not have: the values of a text field, and the meanings of phases and moves. The daemon
does not read this module.
"""

from collections.abc import Iterable, Mapping
from inspect import cleandoc
from typing import Final

import msgspec
from msgspec import inspect
from msgspec.structs import FieldInfo
from msgspec.structs import fields as declared

from docs import protocol_page
from firmware_protocols.family import Reason
from shoed.bus.messages import CloudEvent, Presence, StatusMessage, TableMessages
from shoed.journal import StoredEvent
from shoed.journal.heads import Head
from shoed.model.cards import Card
from shoed.model.device_events import (
    DeviceDoubted,
    DeviceIdentified,
    DeviceOrderAnswered,
    EventData,
    LineRejected,
    OrderResult,
)
from shoed.model.events import (
    TYPES,
    BetsClosed,
    BetsLate,
    CardDrawn,
    CardSetAside,
    IrregularityRuled,
    Points,
    QuestionLapsed,
    RoundAbandoned,
    RoundCompleted,
    RoundOvertaken,
    RoundResumed,
    RoundStarted,
    Seen,
)
from shoed.model.incarnations import Because, JournalContinued, WordSince
from shoed.model.irregularities import PLAYER, Role
from shoed.model.moments import rfc3339
from shoed.model.observations import Capability, DeviceDoubt, Outcome, Place, Side
from shoed.model.step import DeviceOrderKind
from shoed.rules.book import BetAction, LateEffect, Then
from shoed.table import PublicState, TableState, public_state
from shoed.table.asking import OUTLIVES, RecordAsk
from shoed.table.phase import MOVES, Move, Phase
from shoed.table.public_question import PublicQuestion
from shoed.table.public_state import LastRound, PublicDevice
from shoed.table.question_events import NOTHING_LEFT
from shoed.table.rounds import MISSING, NEW_SHOE_BEGAN, NEXT_ROUND_BEGAN, REPORTS_MISSING
from shoed.table.state import Comparison, LinkStatus

PHASES: Final[Mapping[Phase, str]] = {
    Phase.IDLE: "the shoe has no round yet",
    Phase.BETTING: "bets are open; no card has been drawn",
    Phase.CLOSED: "bets are closed; no card has been drawn",
    Phase.DEALING: "a card is due",
    Phase.SUSPENDED: "the round waits for a person; a further card is a `card/set-aside` and waits for the decision",
    Phase.COMPLETE: "the last card is drawn; the shoe may report its own result before this card or after it",
    Phase.CORRECTED: "the last card is drawn, and a correction replaces the first published result",
    Phase.SETTLED: "the round is settled, by command or because the next round or shoe begins",
    Phase.VOIDED: "the round has no result, and every stake is returned",
    Phase.ABANDONED: "the round ended without a result, because a new round or shoe began or reports were lost",
}
MOVE_MEANINGS: Final[Mapping[Move, str]] = {
    Move.ANNOUNCED: "bets were opened",
    Move.BETS_CLOSED: "bets were closed, by command or by the first card",
    Move.OPENING_CARD: "the first reported card, which is Player's first card or, after a loss, a later card",
    Move.DUE_CARD: "the due card was drawn, and a further card is due",
    Move.LAST_CARD: "the due card was drawn, and no further card is due",
    Move.DOUBT: "a question is open, and the round waits for the answer of a person",
    Move.RESUMED: "every question that holds the round is closed, and a card is due",
    Move.STILL_BETTING: "every question that holds the round is closed, and bets are open",
    Move.STILL_CLOSED: "every question that holds the round is closed; bets are closed, and no card is drawn",
    Move.COMPLETED: "every question that holds the round is closed, and no card is due",
    Move.VOID: "the rule book or a person voids the round",
    Move.CORRECTION: "the published result is corrected",
    Move.REOPENED: "the published result is corrected, and a card is due",
    Move.SETTLEMENT: "the round is settled, by command or because the next round or shoe begins",
    Move.GIVEN_UP: "a new round or shoe began before every card due was drawn, or reports were lost",
    Move.NEXT: "the next round or shoe begins",
}
SET_ASIDE: Final[Mapping[str, str]] = {
    Place.BURN.value: "burnt",
    Place.FIRST_CARD.value: "the first card of the shoe",
    Place.LOCKED.value: "drawn while the shoe was locked",
    Place.ERROR.value: "drawn while the shoe was in error",
    Place.SET_UP.value: "drawn while the shoe was in set-up",
    Place.OVERDRAW.value: "the card of an overdraw, after its error was cleared; possibly reported before, too",
    Place.UNKNOWN.value: "reported with a target or a situation that shoed does not know: `reported.unknown`",
    "not-due": "the reported hand and position differ from the due slot, or the card is unread; the round is suspended",
    "no-round": "reported for a hand before the first round of the shoe, or after an abandoned round",
}
SHOE_INTEGRITY: Final[Mapping[str, str]] = {
    "complete": "shoed received the reports of the shoe from its start, and no report between two rounds is lost",
    "partial": "shoed did not receive the start of the shoe, or reports between two rounds may be lost",
}
NEXT_BEGAN: Final[Mapping[str, str]] = {
    NEXT_ROUND_BEGAN: "`round/started` follows",
    NEW_SHOE_BEGAN: "`shoe/started` follows",
}
# The values of a text field, with their meanings: (type, field) -> value -> meaning.
WORDS: Final[Mapping[tuple[type, str], Mapping[str, str]]] = {
    (CardSetAside, "reason"): SET_ASIDE,
    (Seen, "unknown"): {
        "target ...": "an Angel Eye shoe reported a card in the game with this target number, which is unknown",
        "situation ...": "an Angel Eye shoe reported a card outside the game with this situation number",
    },
    (RoundResumed, "phase"): {
        phase.value: PHASES[phase] for phase in (Phase.BETTING, Phase.CLOSED, Phase.DEALING, Phase.COMPLETE)
    },
    (RoundStarted, "opened_by"): {
        "announcement": "the announcement of the dealer, before the first card",
        "card": "a card without an announcement, which is Player's first card or, after a loss, a later card",
    },
    (BetsClosed, "closed_by"): {
        "announcement": "the announcement of the dealer (the command `close-bets`)",
        "card": "the first card of the round",
    },
    (BetsLate, "act"): {
        BetAction.BET.value: "a bet was placed",
        BetAction.INCREASE.value: "a bet was raised",
        BetAction.WITHDRAWAL.value: "a bet was withdrawn",
    },
    (BetsLate, "then"): {
        LateEffect.REFUSED.value: "the change has no effect",
        LateEffect.INCREASE_REFUSED.value: "the increase has no effect; the original stake plays",
        LateEffect.STANDS.value: "the withdrawal has no effect; the bet plays",
    },
    (IrregularityRuled, "then"): {
        Then.VOID.value: "the round is void",
        Then.CONTINUE.value: "the round continues",
        Then.RECONSTRUCT.value: "the cards count in their correct order, and the round continues",
        Then.RECONSTRUCT_OR_CARRY.value: "the card counts in this round if it is due, otherwise in the next round",
        Then.ORDER_CARDS.value: "the cards count in the order that a person decides",
        Then.RETURN_ORIGINAL.value: "the Original Bets of the players who intended to take insurance are returned",
        Then.STANDS.value: "no consequence for the round",
        Then.ASK.value: "a person decides",
    },
    (JournalContinued, "reason"): {
        Because.RESTORED.value: "a backup was restored",
        Because.SALVAGED.value: "the journal was salvaged from a damaged file",
        Because.TAIL_LOST.value: "the retained `state` of the broker, or a signed head, is not in the journal",
        Because.DAMAGED.value: "the journal could not be read, and a new journal begins",
    },
    (RoundAbandoned, "reason"): {
        **NEXT_BEGAN,
        REPORTS_MISSING: "`after_gap` is `abandon`",
        f"..., and reports of this round {MISSING}": "one of the first two reasons, and a loss of reports",
    },
    (RoundOvertaken, "reason"): NEXT_BEGAN,
    (QuestionLapsed, "reason"): {
        NOTHING_LEFT: "a report, a command or another answer decided the matter",
        **dict.fromkeys((NEXT_ROUND_BEGAN, NEW_SHOE_BEGAN, REPORTS_MISSING), "the round ended"),
    },
    (DeviceDoubted, "reason"): {
        DeviceDoubt.NO_HELLO.value: "the device does not identify itself",
        DeviceDoubt.UNKNOWN_VERSION.value: "shoed does not know the version of the protocol",
        DeviceDoubt.WRONG_ROLE.value: "the device is a shoe in place of a shuffler, or the reverse",
        DeviceDoubt.IGNORES_ACKNOWLEDGEMENTS.value: "the device repeats reports that shoed acknowledged",
        DeviceDoubt.CLOCK_JUMPS.value: "the clock of the device jumps",
        DeviceDoubt.NOT_UNDERSTOOD.value: "bytes arrive without a valid frame",
        DeviceDoubt.KEY_NEEDED.value: "the device has a key, and shoed has no key for the device",
    },
    (DeviceIdentified, "capabilities"): {
        Capability.PASSAGE.value: "the device measures the passage of a card",
        Capability.HANDS.value: "the device names the hand of each card",
        Capability.LOCK.value: "orders lock and unlock the exit of the device",
        Capability.CLEAR.value: "an order clears the faults of the device",
        Capability.MEMORY.value: "the device keeps its reports without power",
        Capability.QUALITY.value: "the device reports the quality of each reading",
        Capability.ORDER.value: "the device reports the order of the cards of a set",
    },
    (LastRound, "answer"): {
        Comparison.AWAITED.value: "the shoe has not reported a result yet",
        Comparison.CONFIRMED.value: "the result of the shoe is equal",
        Comparison.DISPUTED.value: "the result of the shoe differs",
        Comparison.UNCONFIRMED.value: "the next round began without a comparison",
    },
    (PublicDevice, "link"): {
        LinkStatus.ONLINE.value: "as after `device/online`",
        LinkStatus.QUIET.value: "as after `device/quiet`",
        LinkStatus.OFFLINE.value: "as after `device/offline`, and before the first link",
    },
    (RoundCompleted, "outcome"): {
        Outcome.PLAYER.value: "Player has more points",
        Outcome.BANKER.value: "Banker has more points",
        Outcome.TIE.value: "both hands have the same points",
    },
    (LineRejected, "reason"): {
        Reason.JUNK.value: "bytes outside any frame",
        Reason.TORN.value: "an incomplete frame",
        Reason.OVER_LONG.value: "longer than any frame",
        Reason.BAD_CHECK.value: "a frame with a wrong checksum",
        Reason.UNKNOWN_COMMAND.value: "a frame with an unknown command",
        Reason.UNDECLARED_CODE.value: "a frame with a code that the protocol does not define",
        Reason.MALFORMED.value: "a frame with an impossible length, bit or character",
        Reason.ECHO.value: "a message of the host that the line sent back",
        Reason.UNKNOWN_VERSION.value: "a frame of an unknown version of the protocol",
        Reason.UNSEALED.value: "bytes outside the secure channel, on a link with a key",
        Reason.NOT_AUTHENTIC.value: "a frame that is not of the device in this session, or a repeated frame",
        Reason.WRONG_ROLE.value: "a frame of a shoe on the link of a shuffler, or the reverse",
    },
    (DeviceOrderAnswered, "result"): {
        OrderResult.ACKNOWLEDGED.value: "the device acknowledged the order",
        OrderResult.REPORTED.value: "a report of the device shows the effect; not every device sends such a report",
        OrderResult.REFUSED.value: "the device refused the order; `detail` has the reason",
        OrderResult.SILENT.value: "no answer arrived within `order_timeout_ms`, or the link closed before an answer",
    },
    (DeviceOrderAnswered, "order"): {
        DeviceOrderKind.LOCK.value: "lock the device",
        DeviceOrderKind.UNLOCK.value: "unlock the device",
        DeviceOrderKind.CLEAR_FAULT.value: "clear the fault of the device",
    },
    (StatusMessage, "reason"): {
        "started": "online: the first connection to the broker",
        "reconnected": "online: a further connection to the broker",
        "stopped": "offline: the daemon published all events and then stopped",
        "connection lost": "offline: the broker lost the connection and published the MQTT will",
        "table failed: ...": "offline: a defect of shoed stopped the processing of this table",
        "journal failed: ...": "offline: the journal cannot be written; the table is stopped, and continues by itself",
        "journal waits: ...": "offline: a commit has not completed for 2 s; the table continues after it",
        "journal available again; ...": "online: the table continues after a stop or a wait, whose times are named",
    },
}

ROLES: Final = ", ".join(f"`{role.value}`" for role in Role)
# The values of fields that several messages have: section -> introduction, and value -> meaning.
SHARED: Final[Mapping[str, tuple[str, Mapping[str, str]]]] = {
    "Kind": (
        "A [kind of irregularity](commands.md#kinds-of-notice), or one of:",
        {
            "misread": "in `irregularity/noticed`: a person corrected the face of a card",
            "correction": "in `irregularity/noticed`: a person reported a wrong card of a past round",
            "void": "in `round/voided`: a person voided the round by command",
            **{
                ask.value: "in `irregularity/ruled`: the answer to this [question](questions.md) about a past round"
                for ask in RecordAsk
                if ask in OUTLIVES and ask is not RecordAsk.CONFIRM
            },
        },
    ),
    "Role": (
        f"Each role may decide for the lower roles. From the lowest to the highest: {ROLES}. Another value:",
        {PLAYER: "a person without a role of the house"},
    ),
    "ShoeIntegrity": ("The value `partial` remains until the next shoe.", SHOE_INTEGRITY),
    "RoundIntegrity": (
        "The integrity of the reports within one round:",
        {
            "complete": "every card due was reported, and no report is missing (proven)",
            "partial": "reports may be missing, or a person entered a card",
        },
    ),
}
SECTIONS: Final[Mapping[str, str]] = {
    "kind": "[Kind](#kind)",
    "role": "[Role](#role)",
    "decides": "[Role](#role)",
    "shoe_integrity": "[ShoeIntegrity](#shoeintegrity)",
    "integrity": "[RoundIntegrity](#roundintegrity)",
    "question": "[kind of question](questions.md)",
    "then_asks": "[kind of question](questions.md)",
}

VOICE: Final = TableMessages("rws", "bac-901", (WordSince(0, "k3v9x2mq"),), "commission", "0.1.0")
AT_US: Final = 1_700_000_000_123_456
EXAMPLE: Final = CardDrawn(
    shoe=1, round=12, index=1, hand=Side.PLAYER, card=Card.S8, points=Points(8, 0), provenance=4711
)
HEAD: Final = Head(
    journal="k3v9x2mq",
    incarnation="k3v9x2mq",
    table="bac-901",
    row=4711,
    sequence=96,
    shoe=1,
    round=12,
    time=rfc3339(AT_US),
    hash="00ff" * 16,
    key="A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg=",
    signature="o/lRrWom33YYJPDboxVpx5htfv8+5zh7cAnFZISh32KHUMprbpx1D5epNLV+xU652nE/q4tYYrzvl/aX8BPzCg==",
)

INTRODUCTION: Final = """\
<!-- Written by docs/generate.py from docs/events_page.py; do not edit: run ./dev generate. -->

# Published messages

Later versions of shoed may add events, fields and values. Later versions do not change a field. A reader must ignore
unknown fields. A card is written in ASCII, rank and suit: `8S`, `10H`, `AC`. Times are UTC with microseconds.

## Topics

shoed uses MQTT 5, or 3.1.1 by a setting, with QoS 1. Each table has its own connection with the client id
`shoed-<site>-<table>`, and publishes under `shoed/v1/<site>/<table>`:
"""
AFTER_TOPICS: Final = """
After every CONNACK the table publishes status, state and question. Then the table publishes in order all events that
the broker has not acknowledged. The head follows when the broker has acknowledged every event up to its `sequence`; of
several heads, only the newest one may be published.

## The envelope of an event

The format is CloudEvents 1.0, structured JSON.

`id` is `<journal>-<table>-<sequence>`. `<journal>` is a random word that shoed creates with the journal. Therefore no
other event has the same id, even after the journal was deleted. An event that shoed publishes again has the same id and
the same `data`. If published events may be missing from the journal, for example after a restore, the ids of all later
events have a new word, and `journal/continued` names the reason ([Operation](operation.md#a-new-word-in-the-ids)).
Then `sequence` may be lower than before; the order is by `sequence` among the ids with the same word.

`sequence` is a decimal string from 1, without a gap in each table. Only `sequence` defines the order of events.

`time` of an event from a report is the arrival of the last byte of the first good copy of the report. A card that
waited in the device was drawn earlier, see [Measured](#measured). `time` of any other event is the moment of its cause:
a command, a change of the link, or the end of a waiting time.

`historical` is true if shoed committed the event before the present connection to the broker, and absent otherwise. No
other field depends on the connection.
"""

RULES_OF_EVENTS: Final = """
These rules apply to the fields of all messages:

- A field is present, unless its type contains "or absent".
- A value is null if the fact does not exist or is not known, unless the description states another meaning.
- `shoe` is the number of the shoe at this table. `round` is the number of the round in this shoe.
- `author` and `role` are of the person who sent the command or the answer; null: no person caused the event.
- `role` of an author is also null for a person without a role of the house.
- `clause` is null if the rule document of the game has no clause.
- `device` of an event is the sender: the shoe or the shuffler.
- A `reason` without a list of values, each `detail` and each `evidence` are texts for people.

### Cards

Two numbers identify a card of a round: the index and the position. Both begin with 1. They are equal until a published
card is withdrawn from the round.

The index is unique in the round. The index of a withdrawn card is not used again. `index` in `card/drawn` and in a
[Slot](#slot) is the index.

The position is the place of the card among the cards that are in the round now; cards that wait for a decision are the
last ones. `at` and `other` of `irregularity/noticed`, `index` of a [question](#question), `index` of its `cards`, and
`at`, `other` and `index` of [commands](commands.md) are positions.
"""

QUESTIONS: Final = """
The command `decide` answers a question, see [commands](commands.md). [Questions](questions.md) lists each kind of
question, its choices with their effects, and an example.
"""


def events_page() -> str:
    shapes: dict[type[msgspec.Struct], None] = {}
    parts = [
        INTRODUCTION,
        topics(),
        AFTER_TOPICS,
        fields(CloudEvent, shapes),
        f"\n```json\n{pretty(VOICE.event(stored(EXAMPLE), historical=False).payload)}\n```\n",
        "\n## Events\n",
        RULES_OF_EVENTS,
    ]
    for noun in dict.fromkeys(name.partition(".")[0] for name in TYPES.values()):
        parts.append(f"\n### {noun}\n")
        for data, name in TYPES.items():
            if name.startswith(f"{noun}."):
                parts += [f"\n#### `{name.replace('.', '/')}`\n", described(data), fields(data, shapes)]
    parts += ["\n## State\n", described(PublicState), fields(PublicState, shapes), phases()]
    parts += ["\n## Question\n", described(PublicQuestion), fields(PublicQuestion, shapes), QUESTIONS]
    parts += [
        "\n## Head\n",
        described(Head),
        fields(Head, shapes),
        f"\n```json\n{pretty(VOICE.head(HEAD).payload)}\n```\n",
    ]
    parts += ["\n## Status\n", described(StatusMessage), fields(StatusMessage, shapes)]
    parts += ["\n## Shapes\n\nThe types in the tables of fields.\n"]
    done: set[type[msgspec.Struct]] = set()
    while todo := [shape for shape in shapes if shape not in done]:
        for shape in todo:
            parts += [f"\n### {shape.__name__}\n", described(shape), fields(shape, shapes)]
            done.add(shape)
    for name, (text, meanings) in SHARED.items():
        parts.append(f"\n### {name}\n\n{text}\n\n{values(meanings)}")
    return "".join(parts)


def topics() -> str:
    voice = TableMessages("<site>", "<table>", (), "", "")
    messages = (
        (
            voice.status(StatusMessage(Presence.ONLINE, "", "", "")),
            "online or offline, with the reason: plain JSON, [below](#status)",
        ),
        (
            voice.state(public_state("commission", TableState())),
            "the state of the table, for a subscriber that connects later: plain JSON, [below](#state)",
        ),
        (voice.event(stored(EXAMPLE), historical=False), "one event: CloudEvents, [below](#events)"),
        (
            voice.question(None),
            "the first open question: plain JSON, [below](#question); empty if no question is open",
        ),
        (voice.head(HEAD), "the newest signed hash of the journal: plain JSON, [below](#head)"),
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


def described(shape: type[msgspec.Struct]) -> str:
    text = cleandoc(shape.__doc__ or "")
    return f"\n{text}\n" if text else ""


def fields(shape: type[msgspec.Struct], shapes: dict[type[msgspec.Struct], None]) -> str:
    """A table of a struct's fields, in the order of the message."""
    rows, lists = [], ""
    for each in declared(shape):
        words = WORDS.get((shape, each.name))
        rows.append((f"`{each.encode_name}`", cell(shape, each, shapes)))
        if words:
            lists += f"\nValues of `{each.encode_name}`:\n\n{values(words)}"
    return f"\n{table(('field', 'type'), rows)}{lists}"


def cell(shape: type[msgspec.Struct], field: FieldInfo, shapes: dict[type[msgspec.Struct], None]) -> str:
    """The type of a field in words, with null and absent."""
    of = inspect.type_info(field.type)
    text = worded(of, shapes)
    null = " or null" if isinstance(of, inspect.UnionType) and of.includes_none else ""
    if (shape, field.name) in WORDS:
        text = f"{'list of: ' if isinstance(of, inspect.VarTupleType) else ''}text, see below{null}"
    elif field.name in SECTIONS:
        text = f"{SECTIONS[field.name]}{null}"
    if field.default is msgspec.UNSET:
        return f"{text}, or absent"
    if field.required or not shape.__struct_config__.omit_defaults:
        return text
    return f"{'true' if field.default is False else text.removesuffix(' or null')}, or absent"


def values(meanings: Mapping[str, str]) -> str:
    return "".join(f"- `{word}`: {meaning}\n" for word, meaning in meanings.items())


def worded(of: inspect.Type, shapes: dict[type[msgspec.Struct], None]) -> str:
    """A type in words. Structs are collected in `shapes`, for a section of their own."""
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
        case inspect.DictType(key_type=key, value_type=value):
            return f"{worded(value, shapes)} by {'card' if isinstance(key, inspect.EnumType) else 'bet'}"
        case _:
            return NAMES[type(of)]


NAMES: Final[Mapping[type[inspect.Type], str]] = {
    inspect.IntType: "integer",
    inspect.FloatType: "number",
    inspect.StrType: "text",
    inspect.BoolType: "true or false",
    inspect.NoneType: "null",
    inspect.RawType: "the event's own data",
}


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    return f"{protocol_page.table(head, rows)}\n"


def stored(data: EventData) -> StoredEvent:
    return StoredEvent(96, TYPES[type(data)], AT_US, msgspec.json.encode(data).decode())


def pretty(payload: bytes) -> str:
    return msgspec.json.format(payload, indent=2).decode()
