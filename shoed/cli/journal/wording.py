"""Events in words, for people. The words of an event do not contain the name of a bettor."""

from collections.abc import Callable, Mapping
from typing import Final

from shoed.journal.scan import Data
from shoed.model.irregularities import PLAYER
from shoed.model.observations import Device

UNREAD: Final = "an unreadable card"
# Keys that another column shows, or that are not for people.
LEFT_OUT: Final = frozenset(
    {"shoe", "round", "author", "role", "bettor", "returned", "provenance", "points", "measured"}
)


def in_words(kind: str, data: Data) -> str:
    """The data of an event of this type, in words."""
    words = WORDS[kind](data) if kind in WORDS else fields(data)
    by = author_of(data)
    return f"{words}, by {by}" if by and words else f"by {by}" if by else words


def author_of(data: Data) -> str | None:
    """The person who caused the event, with the role. A `role` without an author is the role that a question needs."""
    return None if data.get("author") is None else f"{data['author']} ({data.get('role') or PLAYER})"


def fields(data: Data, *more_left_out: str) -> str:
    left_out = LEFT_OUT.union(more_left_out)
    shown = ((key, value) for key, value in data.items() if key not in left_out and value not in (None, [], {}, ""))
    return ", ".join(f"{key.replace('_', ' ')} {value_in_words(value)}" for key, value in shown)


def value_in_words(value: object) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case {"cards": cards, "points": points}:
            return f"{' '.join(map(str, cards)) or 'no cards'} ({points})"
        case dict():
            return " ".join(f"{key} {value_in_words(each)}" for key, each in value.items() if each not in (None, []))
        case list():
            return " ".join(map(value_in_words, value)) or "none"
        case _:
            return str(value)


def card(data: Data) -> str:
    return str(data.get("card") or UNREAD)


def drawn(data: Data) -> str:
    points = data.get("points", {})
    by_hand = "" if data.get("source", "device") == "device" else f", from a {data['source']}"
    before = f", set aside before as {data['set_aside']}" if data.get("set_aside") else ""
    count = f"Player {points.get('player')}, Banker {points.get('banker')}"
    return f"card {data.get('index')}: {side(data.get('hand'))} {card(data)}; {count}{by_hand}{before}"


def set_aside(data: Data) -> str:
    many = f", {data['count']} cards; this is the last one" if "count" in data else ""
    return f"{card(data)}: {data.get('reason')}{many}"


def side(word: object) -> str:
    return str(word).capitalize()


def result(data: Data) -> str:
    """A result, as an event or as the device reports it."""
    outcome = data.get("outcome")
    if outcome is None:
        return "a card is due"
    words = {"tie": "tie", "forced-end": "ended by the shoe"}.get(str(outcome), f"{side(outcome)} wins")
    pairs = " and ".join(side(each) for each in data.get("pairs") or ())
    return f"{words}, {pairs} pair" if pairs else words


def hands(data: Data) -> str:
    return ", ".join(f"{side(each)} {value_in_words(data[each])}" for each in ("player", "banker") if data.get(each))


def completed(data: Data) -> str:
    partial = ", partial" if data.get("integrity") == "partial" else ""
    return f"{result(data)}{partial}; {hands(data)}"


def compared(data: Data) -> str:
    return f"ours: {result(data['ours'])}; the shoe's: {result(data['theirs'])}"


def voided(data: Data) -> str:
    return f"{data.get('kind')}{clause(data)}; {hands(data)}"


def clause(data: Data) -> str:
    return f", clause {data['clause']}" if data.get("clause") else ""


def suspended(data: Data) -> str:
    seen = data.get("seen") or {}
    shown = {**seen, "result": result(seen["result"])} if seen.get("result") else seen
    gap = ", the link was closed during the round" if data.get("gap") else ""
    return f"due: {slot(data.get('due'))}; seen: {value_in_words(shown) or 'no report'}{gap}"


def slot(due: Data | None) -> str:
    return "no card" if due is None else f"{side(due.get('hand'))}'s card {due.get('position')}"


def resumed(data: Data) -> str:
    return f"due: {slot(data.get('due'))}; {hands(data)}"


def noticed(data: Data) -> str:
    at = f" at card {data['at']}" if data.get("at") else ""
    late = ", noticed late" if data.get("late") else ""
    evidence = data.get("evidence")
    evidence = f": {evidence}" if evidence and evidence != f"reported by {data.get('author')}" else ""
    return f"{data.get('kind')}{at}{late}{evidence}"


def ruled(data: Data) -> str:
    reading = f" ({data['reading']})" if data.get("reading") else ""
    ground = clause(data) or ", without a clause"
    return f"{data.get('kind')}: {data.get('then')}{ground}{reading}"


def asked(data: Data) -> str:
    needed = f", for {data['role']}" if data.get("role") else ""
    return f"question {data.get('id')}, {data.get('question')}{needed}{clause(data)}"


def answered(data: Data) -> str:
    return f"question {data.get('id')}, {data.get('question')}: {value_in_words(data.get('choice') or [])}"


def of_device(*keys: str) -> Callable[[Data], str]:
    """The device, if it is not the shoe, and the values of these keys."""

    def words(data: Data) -> str:
        device = str(data.get("device", Device.SHOE.value))
        many = [f"{data['count']} times"] if "count" in data else []
        return ", ".join(
            [device, *(value_in_words(data[key]) for key in keys if data.get(key) not in (None, "")), *many]
        )

    return words


def fault(data: Data) -> str:
    blocking = ", blocking" if data.get("blocking") else ""
    return f"{of_device('name')(data)} ({data.get('code')}){blocking}"


def missed(data: Data) -> str:
    device = data.get("device", Device.SHOE.value)
    count = data.get("at_least")
    lost = "an unknown number of reports is" if count is None else f"at least {count} reports are"
    return f"{device}: {lost} lost; expected {data.get('expected')}, seen {data.get('seen')}"


def rejected(data: Data) -> str:
    size = f", {data['size']} bytes" if data.get("size") else ""
    return f"{of_device('reason', 'detail')(data)}{size}"


def continued(data: Data) -> str:
    detail = f": {data['detail']}" if data.get("detail") else ""
    return f"{data.get('reason')}{detail}; the ids have the word {data.get('incarnation')} from here on"


WORDS: Final[Mapping[str, Callable[[Data], str]]] = {
    "card.drawn": drawn,
    "card.set-aside": set_aside,
    "round.completed": completed,
    "round.corrected": completed,
    "round.confirmed": compared,
    "round.disputed": compared,
    "round.voided": voided,
    "round.suspended": suspended,
    "round.resumed": resumed,
    "round.abandoned": hands,
    "irregularity.noticed": noticed,
    "irregularity.ruled": ruled,
    "question.asked": asked,
    "question.answered": answered,
    "device.online": of_device("port"),
    "device.offline": of_device("port", "reason"),
    "device.doubted": of_device("reason", "detail"),
    "device.trusted": of_device("reason"),
    "device.fault": fault,
    "device.cleared": fault,
    "device.locked": of_device(),
    "device.unlocked": of_device(),
    "device.order-answered": of_device("order", "result", "detail"),
    "journal.continued": continued,
    "line.missed": missed,
    "line.rejected": rejected,
}
