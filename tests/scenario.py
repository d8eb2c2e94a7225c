"""The format of the scenarios: each file of `tests/scenarios` is one situation at a table, with the expected output.

A file has a title, the clauses, the game and the settings of the table, then `[[step]]` sections, then `[end]`.
Input keys of a step:

    shoe = "P1 8S, B1 3H"      reports of the shoe: a slot and a card, `?` for a card that the shoe could not read;
                               burn, first-card, locked, in-error or set-up with a card; `R P3 5D`, after an overdraw;
                               target-6 or situation-3 with a card: a number that the protocol page does not describe;
                               `result banker player-pair`, `error 1`, `cleared 1`, cut, start, stand-by
    lost = "B1 3H"             reports that are lost on the line, in the same form
    window = "P1 8S 0-80"      a card, and the ms at which its edges passed the window; `double`: two cards thick
    shuffler = "failed jam"    a report of the shuffler: recognised ID, shuffling, shuffled, failed REASON
    delivered = { ... }        the set that the shuffler delivers: missing, extra, order, unread, set (its id)
    loaded = "A7"              the id of the loaded set, from a shoe that identifies its sets
    tell = "foreign-card at=3" a command in the words of `shoed tell`; `role` is the role of its author
    answer = "yes"             an answer to the open question; `role` is the role of its author
    line, daemon               "away" and "back"
    after_ms = 60              the time before each report of the step

Output keys of a step:

    expect = ["type key=value", ...]   all events in order, each with some of its fields. `=~`: contains.
                                       Without `expect`, the step is honest play, and each card is drawn in its slot.
    refused = "..."                    the command is refused; the answer contains this text
    answered = "..."                   the command is accepted; the answer contains this text
    question = "card-order clause=5.10 ..."   the question that is open after the step, or "none"
    effects = ["yes -> player=8S,JD:8", ...]  the effect that the question shows for a choice
    state = "insurance=none ..."       some fields of the retained state after the step

Values: null is `none`, an absent clause is `silent`, a hand is `8S,JD:8`, a slot is `P3`, a list is `a,b`. `[end]` has
the phase, the hands, and the results of the bets. Events of the line alone (online, offline) are not compared. An
unknown key is an error.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from shoed.model.cards import Card

PLACE: Final = Path(__file__).resolve().parent / "scenarios"
# Not compared: the other events of a step do not depend on them. A retained question has its own revision.
NOT_COMPARED: Final = {"device.online", "device.offline", "device.changed", "question.revised"}
HONEST: Final = {
    *("round.started", "bets.closed", "card.drawn"),
    *("round.completed", "round.confirmed", "round.unconfirmed"),
}
FIGURES: Final = re.compile(r"[\d.]+")
HANDS: Final = {"P": "player", "B": "banker"}
ACTS: Final = ("shoe", "lost", "window", "shuffler", "delivered", "loaded", "tell", "answer", "line", "daemon")
Away = Literal["away", "back"]


class Delivered(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A delivered set: its differences to eight whole decks, and the order of its first cards."""

    missing: str = ""
    extra: str = ""
    order: str = ""
    unread: int = 0
    set: str = ""


class Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    shoe: str | None = None
    lost: str | None = None
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
    effects: tuple[str, ...] = ()
    state: str | None = None

    @property
    def act(self) -> str:
        (act,) = (f"{name} = {value}" for name in ACTS if (value := getattr(self, name)) is not None)
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
    returns: str | None = None  # the clause that returns every stake
    question: str = "none"


class Scenario(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    title: str
    clause: str
    game: tuple[str, ...]  # several games: the scenario is the same for each
    step: tuple[Step, ...]
    end: End
    end_2: End | None = msgspec.field(name="end-2", default=None)  # the end of a second table
    decks: int = 8
    insurance: Literal["on", "off"] = "on"
    bets_close: Literal["card", "command"] = "card"
    after_gap: Literal["ask", "abandon", "partial"] = "ask"
    confirm_void: bool = True
    min_draw_gap_ms: int = 0  # 0: the time between two cards is not evidence
    name: str = ""

    @property
    def tables(self) -> tuple[int, ...]:
        return (1,) if self.end_2 is None else (1, 2)

    @property
    def by_line(self) -> bool:
        """Whether an Angel Eye shoe can send every report of the scenario."""
        others = (other for each in self.step for other in (each.window, each.shuffler, each.delivered, each.loaded))
        return all(other is None for other in others)


def read(path: Path) -> list[Scenario]:
    """One scenario for each game of the file."""
    try:
        written = msgspec.convert(msgspec.toml.decode(path.read_bytes()) | {"name": path.stem}, Scenario)
    except msgspec.MsgspecError as error:
        raise ValueError(f"{path}: {error}") from error
    if len(written.game) == 1:
        return [written]
    return [replace(written, name=f"{path.stem}-{game}", game=(game,)) for game in written.game]


def every() -> list[Scenario]:
    return [each for path in sorted(PLACE.glob("*.toml")) for each in read(path)]


# --- the output of a step


class StepOutput(NamedTuple):
    """The output of a step that is visible outside the daemon, as JSON."""

    events: list[Any]  # type and data
    answer: Any  # to the command of the step
    question: Any  # the retained question; None: no question is open
    state: Any  # the retained state


def check(scenario: Scenario, number: int, output: StepOutput) -> None:
    """Compare the output of a step with the scenario; raise an AssertionError if they differ."""
    step = scenario.step[number]
    events = [each for each in output.events if each["type"] not in NOT_COMPARED]
    errors = event_errors(step, events)
    if step.tell is not None or step.answer is not None:
        errors += answer_errors(step, output.answer)
    if step.question is not None:
        errors += question_errors(step, output.question)
    if step.state is not None:
        errors += [f"state: {each}" for each in field_errors(shlex.split(step.state), output.state)]
    if errors:
        lines = "\n".join(f"    {line(each)}" for each in events)
        answer = f"\n  answer: {output.answer}" if output.answer else ""
        question = f"\n  question: {msgspec.json.encode(output.question).decode()}" if output.question else ""
        raise AssertionError(
            f"{scenario.name}, step {number + 1}: {step.act}\n  "
            + "\n  ".join(errors)
            + f"\n  published:\n{lines}{answer}{question}"
        )


def event_errors(step: Step, events: list[Any]) -> list[str]:
    if step.expect is None:
        reported = [each.split() for each in listed(step.shoe or step.window or "") if each[:1] in tuple("PB")]
        drawn = [(each["data"]["hand"], each["data"]["card"]) for each in events if each["type"] == "card.drawn"]
        honest = HONEST | ({"round.settled"} if step.tell == "settle" else set())
        errors = [f"not an event of honest play: {each['type']}" for each in events if each["type"] not in honest]
        if [(HANDS[place[0]], card) for place, card, *_ in reported] != drawn:
            errors.append("the drawn cards are not the reported cards in their slots")
        return errors
    errors = []
    if [each.partition(" ")[0] for each in step.expect] != [each["type"] for each in events]:
        errors.append("expected:\n" + "\n".join(f"    {each}" for each in step.expect))
    for expected, each in zip(step.expect, events, strict=False):
        kind, *fields = shlex.split(expected)
        if kind == each["type"]:
            errors += [f"{kind}: {error}" for error in field_errors(fields, each["data"])]
    return errors


def answer_errors(step: Step, answer: Any) -> list[str]:  # noqa: ANN401  # JSON
    if step.refused is None:
        if not answer["accepted"]:
            return ["the command was refused"]
        return [] if (step.answered or "") in answer["detail"] else [f"the answer does not contain: {step.answered}"]
    if answer["accepted"]:
        return [f"the command was accepted; expected was a refusal: {step.refused}"]
    return [] if step.refused in answer["detail"] else [f"the refusal does not contain: {step.refused}"]


def identity_of(question: Any) -> bytes:  # noqa: ANN401  # JSON
    """The fields that distinguish a question from others and from its revisions, without the figures of a clock."""
    if question is None:
        return b"null"
    evidence = [FIGURES.sub("", each) for each in question["evidence"]]
    return msgspec.json.encode([evidence, *(question[key] for key in ("id", "optional", "choices", "consequences"))])


def question_errors(step: Step, question: Any) -> list[str]:  # noqa: ANN401  # JSON
    if step.question == "none" or question is None:
        return [] if (step.question == "none") is (question is None) else [f"expected the question {step.question}"]
    name, *fields = shlex.split(step.question or "")
    errors = [f"question: {each}" for each in field_errors([f"question={name}", *fields], question)]
    for each in step.effects:
        choice, _, expected = each.partition(" -> ")
        found = [effect for effect in question["consequences"] if text(effect["choice"]) == choice]
        errors += [] if found else [f"question: no effect of {choice}"]
        errors += [f"if {choice}: {error}" for effect in found for error in field_errors(shlex.split(expected), effect)]
    return errors


def field_errors(fields: Sequence[str], data: Any) -> list[str]:  # noqa: ANN401  # JSON
    errors = []
    for each in fields:
        path, contains, expected = each.partition("=~")
        if not contains:
            path, _, expected = each.partition("=")
        found = data
        for key in path.split("."):
            found = found and found[key]
        if not (expected in text(found) if contains else expected == text(found)):
            errors.append(f"expected {each}; found {text(found)}")
    return errors


def text(value: Any) -> str:  # noqa: ANN401, C901, PLR0912 -- JSON; one case for each shape
    match value:
        case None:
            return "none"
        case "":  # the clause of a silent document
            return "silent"
        case bool():
            return "yes" if value else "no"
        case {"cards": [], "points": 0}:
            return "none"
        case {"cards": cards, "points": points}:
            return f"{text(cards)}:{points}"
        case {"hand": str(hand), "position": position}:
            return f"{hand[0].upper()}{position}"
        case {"hand": None, "card": card, "result": result}:  # a reported card or result
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


class TableEnd(NamedTuple):
    """The output of a table that is visible at the end, as JSON."""

    state: Any
    question: Any
    events: list[Any]
    due: str | None = None  # None: not visible outside the daemon


def check_end(scenario: Scenario, number: int, ended: TableEnd) -> None:
    """Compare the end of a table with the scenario; raise an AssertionError if they differ."""
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
    errors = [
        f"expected {key} = {getattr(end, key)}; found {it}" for key, it in found.items() if it != getattr(end, key)
    ]
    if settled and settled["pays"] != state["last_round"]["pays"]:
        errors.append(f"the pays of the state differ from those of the event: {state['last_round']['pays']}")
    if errors:
        raise AssertionError(f"{scenario.name}, at the end of table {number}:\n  " + "\n  ".join(errors))


# --- the reports of the shoe


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
            raise ValueError(
                f'"{words}" is not a report of a shoe; the docstring of tests/scenario.py lists the reports'
            )


def known(cards: str) -> tuple[Card, ...]:
    return tuple(map(Card.parse, cards.split()))


# --- scenarios that the table does not play correctly, each with the reason; one that passes fails the suite

EXPECTED_TO_FAIL: Final[Mapping[str, str]] = {}
