"""A situation at a table as an auditor reads it: one file of `tests/scenarios`, and whether it came so.

A file has a title, the clauses, the game and the table's settings, then `[[step]]` after `[[step]]`, then `[end]`.
What a step may say:

    shoe = "P1 8S, B1 3H"      what the shoe reports: its slot and the card, `?` for one that it could not read;
                               burn, first-card, locked, in-error or set-up with a card; `R P3 5D`, of an overdraw;
                               target-6 or situation-3 with a card: a target or a situation that the page does not name;
                               `result banker player-pair`, `error 1`, `cleared 1`, cut, start, stand-by
    unheard = "B1 3H"          the same, while nobody hears it
    window = "P1 8S 0-80"      a card of a shoe that tells when it passed the window, in ms; `double`: two cards thick
    shuffler = "failed jam"    what a shuffler says: recognised (and an id), shuffling, shuffled, failed (and why)
    delivered = { ... }        and of the set that it hands over: missing, extra, order, unread, set (its id)
    loaded = "A7"              what a shoe that knows its sets says of the one that was put into it
    tell = "foreign-card at=3" what somebody says, as `shoed tell` takes it, in a role, or
    answer = "yes"             the answer to the open question
    line, daemon               "away" and "back"
    after_ms = 60              since the report before, for each report of the step

What follows from it:

    expect = ["type key=value", ...]   all that is published, in order; of each what matters. `=~`: contains.
                                       Without it: play as it should be, every card drawn where the shoe says it was.
    refused = "..."                    the answer is no, and says this
    answered = "..."                   the answer is yes, and says this
    question = "card-order clause=5.10 ..."   the question that is open then; or "none"
    would = ["yes -> player=8S,JD:8", ...]    what it says of an answer
    state = "insurance=none ..."       what matters of the state that is retained then

A null is `none`, a void without a clause `silent`, a hand `8S,JD:8`, a slot `P3`, a list `a,b`. `[end]` has the phase,
the hands as they lie, and what became of the bets. What belongs to the line alone (online, offline) is published beside
all this, and is left out here. A key that is not known is an error.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from shoed.cards import Card

PLACE: Final = Path(__file__).resolve().parent / "scenarios"
# Published beside the rest, and left out here; a question shows its own revision.
OF_THE_LINE: Final = {"device.online", "device.offline", "device.changed", "question.revised"}
HONEST: Final = {
    *("round.started", "bets.closed", "card.drawn"),
    *("round.completed", "round.confirmed", "round.unconfirmed"),
}
FIGURES: Final = re.compile(r"[\d.]+")
HANDS: Final = {"P": "player", "B": "banker"}
ACTS: Final = ("shoe", "unheard", "window", "shuffler", "delivered", "loaded", "tell", "answer", "line", "daemon")
Away = Literal["away", "back"]


class Delivered(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The set as the shuffler counted it, against the decks; and the order of its first cards."""

    missing: str = ""
    extra: str = ""
    order: str = ""
    unread: int = 0
    set: str = ""


class Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    shoe: str | None = None
    unheard: str | None = None
    window: str | None = None
    shuffler: str | None = None
    delivered: Delivered | None = None
    loaded: str | None = None
    tell: str | None = None
    answer: str | None = None
    line: Away | None = None
    daemon: Away | None = None
    table: int = 1
    after_ms: int | None = None
    role: str | None = None
    author: str | None = None
    bettor: str | None = None
    expect: tuple[str, ...] | None = None
    refused: str | None = None
    answered: str | None = None
    question: str | None = None
    would: tuple[str, ...] = ()
    state: str | None = None

    @property
    def act(self) -> str:
        (act,) = (f"{name} = {told}" for name in ACTS if (told := getattr(self, name)) is not None)
        return act


class End(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    phase: str
    player: str
    banker: str
    round: int = 1
    due: str = "none"
    outcome: str | None = None
    pays: dict[str, str] | None = None
    returned: tuple[str, ...] = ()  # "ann 5.12.3"
    carried: str = "none"
    void: str | None = None  # the clause
    returns: str | None = None  # the clause that gives every stake back
    question: str = "none"


class Scenario(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    title: str
    clause: str
    game: tuple[str, ...]  # one, or several that say the same
    step: tuple[Step, ...]
    end: End
    end_2: End | None = msgspec.field(name="end-2", default=None)  # of a second table
    decks: int = 8
    insurance: Literal["on", "off"] = "on"
    bets_close: Literal["card", "command"] = "card"
    after_gap: Literal["ask", "abandon", "partial"] = "ask"
    confirm_void: bool = True
    min_draw_gap_ms: int = 0  # no spacing is evidence
    name: str = ""

    @property
    def tables(self) -> tuple[int, ...]:
        return (1,) if self.end_2 is None else (1, 2)

    @property
    def by_line(self) -> bool:
        """Whether an Angel Eye shoe can say it all."""
        others = (told for each in self.step for told in (each.window, each.shuffler, each.delivered, each.loaded))
        return all(told is None for told in others)


def read(path: Path) -> list[Scenario]:
    """One for each game that it is of."""
    try:
        written = msgspec.convert(msgspec.toml.decode(path.read_bytes()) | {"name": path.stem}, Scenario)
    except msgspec.MsgspecError as error:
        raise ValueError(f"{path}: {error}") from error
    if len(written.game) == 1:
        return [written]
    return [replace(written, name=f"{path.stem}-{game}", game=(game,)) for game in written.game]


def every() -> list[Scenario]:
    return [each for path in sorted(PLACE.glob("*.toml")) for each in read(path)]


# --- what came of a step


class Came(NamedTuple):
    """All that anybody outside learns of it, as JSON."""

    events: list[Any]  # type and data
    answer: Any  # to what was told
    question: Any  # as it is retained; None: none is open
    state: Any  # as it is retained


def check(scenario: Scenario, number: int, came: Came) -> None:
    """The step came as it is written."""
    step = scenario.step[number]
    told = [each for each in came.events if each["type"] not in OF_THE_LINE]
    wrong = unexpected(step, told)
    if step.tell is not None or step.answer is not None:
        wrong += answered(step, came.answer)
    if step.question is not None:
        wrong += asked(step, came.question)
    if step.state is not None:
        wrong += [f"state: {each}" for each in differing(shlex.split(step.state), came.state)]
    if wrong:
        lines = "\n".join(f"    {line(each)}" for each in told)
        detail = f"\n  answer: {came.answer}" if came.answer else ""
        was = f"\n  question: {msgspec.json.encode(came.question).decode()}" if came.question else ""
        raise AssertionError(
            f"{scenario.name}, step {number + 1}: {step.act}\n  "
            + "\n  ".join(wrong)
            + f"\n  told:\n{lines}{detail}{was}"
        )


def unexpected(step: Step, told: list[Any]) -> list[str]:
    if step.expect is None:
        said = [each.split() for each in listed(step.shoe or step.window or "") if each[:1] in tuple("PB")]
        drawn = [(each["data"]["hand"], each["data"]["card"]) for each in told if each["type"] == "card.drawn"]
        honest = HONEST | ({"round.settled"} if step.tell == "settle" else set())
        wrong = [f"not as it should be: {each['type']}" for each in told if each["type"] not in honest]
        if [(HANDS[place[0]], card) for place, card, *_ in said] != drawn:
            wrong.append("not every card was drawn where the shoe says it was")
        return wrong
    wrong = []
    if [each.partition(" ")[0] for each in step.expect] != [each["type"] for each in told]:
        wrong.append("expected:\n" + "\n".join(f"    {each}" for each in step.expect))
    for wanted, each in zip(step.expect, told, strict=False):
        kind, *fields = shlex.split(wanted)
        if kind == each["type"]:
            wrong += [f"{kind}: {each}" for each in differing(fields, each["data"])]
    return wrong


def answered(step: Step, answer: Any) -> list[str]:  # noqa: ANN401  # JSON
    if step.refused is None:
        if not answer["accepted"]:
            return ["it was refused"]
        return [] if (step.answered or "") in answer["detail"] else [f"the answer does not say {step.answered}"]
    if answer["accepted"]:
        return [f"it was accepted, and should be refused: {step.refused}"]
    return [] if step.refused in answer["detail"] else [f"it was refused, and not because {step.refused}"]


def matter_of(question: Any) -> bytes:  # noqa: ANN401  # JSON
    """What tells a question from another, and from itself before another report; figures of a clock vary."""
    if question is None:
        return b"null"
    evidence = [FIGURES.sub("", each) for each in question["evidence"]]
    return msgspec.json.encode([evidence, *(question[key] for key in ("id", "optional", "choices", "consequences"))])


def asked(step: Step, question: Any) -> list[str]:  # noqa: ANN401  # JSON
    if step.question == "none" or question is None:
        return [] if (step.question == "none") is (question is None) else [f"expected the question {step.question}"]
    name, *fields = shlex.split(step.question or "")
    wrong = [f"question: {each}" for each in differing([f"question={name}", *fields], question)]
    for each in step.would:
        choice, _, then = each.partition(" -> ")
        found = [each for each in question["consequences"] if text(each["choice"]) == choice]
        wrong += [] if found else [f"question: nothing is said of {choice}"]
        wrong += [f"if {choice}: {fault}" for said in found for fault in differing(shlex.split(then), said)]
    return wrong


def differing(fields: Sequence[str], data: Any) -> list[str]:  # noqa: ANN401  # JSON
    wrong = []
    for each in fields:
        path, contains, wanted = each.partition("=~")
        if not contains:
            path, _, wanted = each.partition("=")
        found = data
        for key in path.split("."):
            found = found and found[key]
        if not (wanted in text(found) if contains else wanted == text(found)):
            wrong.append(f"{each}, but it is {text(found)}")
    return wrong


def text(value: Any) -> str:  # noqa: ANN401, C901, PLR0912 -- JSON, and one line a shape
    match value:
        case None:
            return "none"
        case "":  # a clause: the document has none
            return "silent"
        case bool():
            return "yes" if value else "no"
        case {"cards": [], "points": 0}:
            return "none"
        case {"cards": cards, "points": points}:
            return f"{text(cards)}:{points}"
        case {"hand": str(hand), "position": position}:
            return f"{hand[0].upper()}{position}"
        case {"hand": None, "card": card, "result": result}:  # of what was seen
            return text(card or result)
        case {"pays": pays, "clause": _}:
            return str(pays)
        case dict() if all(isinstance(times, int) for times in value.values()):
            return ",".join(f"{times} {card}" for card, times in value.items()) or "none"
        case {"bettor": bettor, "clause": clause}:
            return f"{bettor} {clause}"
        case {"bet": bet, "odds": odds}:
            return f"{bet} {odds}"
        case {"outcome": outcome, "pairs": pairs}:
            return ",".join([outcome, *(f"{each}-pair" for each in pairs)])
        case list() | tuple():
            return ",".join(map(text, value)) or "none"
        case _:
            return str(value)


def line(event: Mapping[str, Any]) -> str:
    return " ".join([event["type"], *(f"{key}={text(value)}" for key, value in event["data"].items())])


# --- the end


class Ended(NamedTuple):
    """What anybody can see of a table, as JSON, and all that it told."""

    state: Any
    question: Any
    events: list[Any]
    due: str | None = None  # None: nobody outside can see it


def check_end(scenario: Scenario, number: int, ended: Ended) -> None:
    """The table as it is left, and what became of the bets."""
    state, question, events, due = ended
    end = scenario.end if number == 1 or scenario.end_2 is None else scenario.end_2
    last = {each["type"]: each["data"] for each in events}
    settled = last["round.settled"] if state["phase"] == "settled" else None
    voided = last["round.voided"] if state["phase"] == "voided" else None
    completed = state["last_round"] if state["phase"] in ("complete", "corrected", "settled") else None
    found = {
        "phase": state["phase"],
        "round": state["round"],
        "player": text(state["hands"]["player"]),
        "banker": text(state["hands"]["banker"]),
        "due": end.due if due is None else due,
        "question": text(question and question["question"]),
        "outcome": completed and completed["result"]["outcome"],
        "pays": settled and {bet: paid["pays"] for bet, paid in settled["pays"].items()},
        "returned": tuple(map(text, settled["returned"])) if settled else (),
        "carried": text(settled["carried"]) if settled else "none",
        "void": voided and text(voided["clause"]),
        "returns": voided and text(voided["returns"]),
    }
    wrong = [f"{key} = {getattr(end, key)}, but it is {it}" for key, it in found.items() if it != getattr(end, key)]
    if settled and settled["pays"] != state["last_round"]["pays"]:
        wrong.append(f"the state has other pays than the event: {state['last_round']['pays']}")
    if wrong:
        raise AssertionError(f"{scenario.name}, at the end of table {number}:\n  " + "\n  ".join(wrong))


# --- what the shoe says


def listed(step: str) -> list[str]:
    return [each.strip() for each in step.split(",") if each.strip()]


TARGETS: Final = {"P": 0x00, "B": 0x10, "burn": 0x20, "first-card": 0x40} | {
    f"target-{code}": code << 4 for code in (3, 6, 7)
}
SITUATIONS: Final = {"locked": 0x00, "in-error": 0x10, "set-up": 0x20} | {
    f"situation-{code}": code << 4 for code in range(3, 8)
}
SUITS: Final = {"D": 0x10, "C": 0x20, "S": 0x30, "H": 0x40}
RANKS: Final = {text: bits for bits, text in enumerate([*"A23456789", "10", *"JQK"], start=1)}
OUTCOMES: Final = {"player": 0x10, "tie": 0x20, "banker": 0x40, "forced-end": 0x70}
PAIRS: Final = {"player-pair": 0x01, "banker-pair": 0x02}
BARE: Final = {"cut": "C", "start": "S", "stand-by": "P"}


def face(card: str) -> int:
    return 0 if card == "?" else SUITS[card[-1]] | RANKS[card[:-1]]


def slot(place: str) -> int:
    return TARGETS[place[0]] | int(place[1])


def report(words: str) -> tuple[str, tuple[int, ...]]:
    """The command of an Angel Eye report and its data, without their bit 7."""
    match words.split():
        case [("cut" | "start" | "stand-by") as word]:
            return BARE[word], ()
        case [place, card] if place in TARGETS:
            return "D", (TARGETS[place], face(card))
        case [place, card] if place in SITUATIONS:
            return "d", (SITUATIONS[place], face(card))
        case ["R", place, card]:
            return "R", (slot(place), face(card))
        case ["result", outcome, *pairs]:
            return "G", (OUTCOMES[outcome] | sum(PAIRS[each] for each in pairs),)
        case ["error", code]:
            return "E", (0x40 | int(code),)
        case ["cleared", code]:
            return "e", (int(code),)
        case [place, card]:
            return "D", (slot(place), face(card))
        case _:
            raise ValueError(f"{words}: no shoe says this")


def known(cards: str) -> tuple[Card, ...]:
    return tuple(map(Card.parse, cards.split()))


# --- what is wrong with the table, not with a file: each fails the suite once it comes as it is written

EXPECTED_TO_FAIL: Final[Mapping[str, str]] = {}
