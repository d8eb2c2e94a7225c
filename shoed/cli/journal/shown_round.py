"""A round as `shoed journal show` prints it: for a person from the result to the bytes, or as JSON."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from shoed.cli.journal.exported import ExportedEvent, event_id, exported
from shoed.cli.journal.played import DEVICES, PEOPLE, RoundStatus, RoundView
from shoed.cli.journal.wording import compared, in_words, side, value_in_words
from shoed.journal import Reader
from shoed.journal.scan import EventRow
from shoed.model.events import Paid
from shoed.model.irregularities import PLAYER
from shoed.model.moments import rfc3339
from shoed.model.step import AnyInput, Commanded
from shoed.typed_json import decoder

CARDS: Final = ("card.drawn", "card.set-aside")


class CardShown(msgspec.Struct, frozen=True):
    """A card, the row of its report, and the received bytes of this row, in hexadecimal.

    `reason`: why the card is in no hand; null for a drawn card. `bytes`: null if no bytes of a device are the source.
    """

    id: str
    time: str
    index: int | None
    hand: str | None
    card: str | None
    reason: str | None
    row: int
    bytes: str | None
    source: str


class RoundShown(msgspec.Struct, frozen=True):
    """A round. `player` and `banker` are the hands by the last event about them. `events`: all events of the round."""

    table: str
    shoe: int
    round: int
    game: str
    status: RoundStatus
    outcome: str | None
    pairs: Sequence[str]
    player: Mapping[str, object] | None
    banker: Mapping[str, object] | None
    integrity: str
    shoe_integrity: str
    pays: Mapping[str, Paid]
    cards: Sequence[CardShown]
    unusual: Sequence[str]
    events: Sequence[ExportedEvent]


class RoundListed(msgspec.Struct, frozen=True):
    """A round in the list of a shoe."""

    table: str
    shoe: int
    round: int
    time: str | None
    status: RoundStatus
    outcome: str | None
    pairs: Sequence[str]
    unusual: Sequence[str]


def listed(table: str, view: RoundView) -> RoundListed:
    began = None if view.began is None else rfc3339(view.began.utc_us)
    return RoundListed(
        table, view.shoe, view.round, began, view.status, outcome(view), view.last.get("pairs", ()), view.unusual
    )


def outcome(view: RoundView) -> str | None:
    return view.last.get("outcome") if view.status is RoundStatus.COMPLETE else None


def list_line(view: RoundView) -> str:
    began = "without a start" if view.began is None else rfc3339(view.began.utc_us)
    unusual = f"  [{'; '.join(view.unusual)}]" if view.unusual else ""
    return f"{view.name:>8}  {began}  {view.headline}{unusual}"


# --- one round


def cards(reader: Reader, table: str, view: RoundView) -> Iterator[CardShown]:
    for event in view.of(*CARDS):
        data = event.data
        row = row_of(event)
        received, source = source_of(reader, table, row)
        yield CardShown(
            event_id(reader, table, event.sequence),
            rfc3339(event.utc_us),
            data.get("index"),
            data.get("hand"),
            data.get("card"),
            data.get("reason"),
            row,
            received,
            source,
        )


def row_of(event: EventRow) -> int:
    """The row of the report of the card."""
    return int(event.data.get("provenance", event.row))


def card_rows(view: RoundView) -> set[int]:
    """The rows of the reports of the cards that are not rows of the round."""
    own = {event.row for event in view.events}
    return {row_of(event) for event in view.of(*CARDS)} - own


def source_of(reader: Reader, table: str, row: int) -> tuple[str | None, str]:
    """The bytes of a row, and the source of its input in words."""
    for step in list(reader.step(table, row, row)):
        incoming: AnyInput = decoder(AnyInput).decode(step.input)
        if isinstance(incoming, Commanded):
            by = incoming.author
            return None, f"entered by {by.name} ({by.role.value if by.role else PLAYER})"
        arrived = step.arrived
        return (None if arrived is None else arrived.hex(" ")), type(incoming).__name__.lower()
    return None, "the row is not in the journal"


def shown(reader: Reader, table: str, view: RoundView) -> RoundShown:
    return RoundShown(
        table=table,
        shoe=view.shoe,
        round=view.round,
        game=view.game,
        status=view.status,
        outcome=outcome(view),
        pairs=view.last.get("pairs", ()),
        player=view.last.get("player"),
        banker=view.last.get("banker"),
        integrity=view.integrity,
        shoe_integrity=str(view.start.get("shoe_integrity", "")),
        pays=view.pays,
        cards=list(cards(reader, table, view)),
        unusual=view.unusual,
        events=[exported(reader, table, event) for event in view.events],
    )


def lines(reader: Reader, table: str, view: RoundView) -> Iterator[str]:
    """The round for a person, from the result to the bytes."""
    yield f"{table} round {view.name}: {view.headline}"
    opened = f"; opened by {view.start['opened_by']}" if view.start.get("opened_by") else ""
    yield f"  game       {view.game or 'unknown'}{opened}"
    began = "not in the journal" if view.began is None else rfc3339(view.began.utc_us)
    ended = "open" if view.ended_us is None else rfc3339(view.ended_us)
    yield f"  time       {began} to {ended}"
    yield f"  integrity  {', '.join(integrity(view))}"
    yield f"  the shoe   {shoe_result(view)}"
    yield from hand_lines(view)
    yield from pay_lines(view)
    yield from card_lines(reader, table, view)
    yield from section("irregularities, questions and decisions", view.of(*PEOPLE))
    yield from section("devices", view.of(*DEVICES))


def integrity(view: RoundView) -> list[str]:
    return [
        f"round {view.integrity or 'without a result'}",
        f"shoe {view.start.get('shoe_integrity') or 'unknown'}",
        *(f"question {each} is open" for each in view.open_questions),
    ]


def shoe_result(view: RoundView) -> str:
    if view.compared is None:
        return "reported no result that was compared"
    match view.compared.type:
        case "round.confirmed":
            return "reported the same result"
        case "round.disputed":
            return f"reported another result; {compared(view.compared.data)}"
        case _:
            return "reported no result, or its result was not compared because of a gap"


def hand_lines(view: RoundView) -> Iterator[str]:
    if any(view.last.get(each) for each in ("player", "banker")):
        yield "  hands"
        for each in ("player", "banker"):
            yield f"    {side(each):<8} {value_in_words(view.last.get(each))}"


def pay_lines(view: RoundView) -> Iterator[str]:
    if view.status is RoundStatus.VOID:
        clause = view.voided.get("returns")
        yield f"  pays       every stake is returned{f' ({clause})' if clause else ''}"
    elif view.pays:
        yield "  pays"
        width = max(map(len, view.pays))
        yield from (f"    {bet:<{width}}  {paid.pays:<8} ({paid.clause})" for bet, paid in view.pays.items())


def card_lines(reader: Reader, table: str, view: RoundView) -> Iterator[str]:
    found = list(cards(reader, table, view))
    if found:
        yield "  cards"
    for each in found:
        place = f"set aside: {each.reason}" if each.reason else f"card {each.index} {side(each.hand)}"
        yield f"    {place:<15} {each.card or 'unreadable':<4} {each.time}  event {each.id}  row {each.row}"
        received = "" if each.bytes is None else f": {each.bytes or 'the journal does not keep the bytes'}"
        yield f"      {each.source}{received}"


def section(title: str, events: Sequence[EventRow]) -> Iterator[str]:
    if events:
        yield f"  {title}"
    for event in events:
        yield f"    {rfc3339(event.utc_us)}  {event.type:<22} {in_words(event.type, event.data)}".rstrip()
