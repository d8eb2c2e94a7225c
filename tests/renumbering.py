"""The numbers of events and questions of one engine, translated to the numbers of another engine.

Theory of operation: after a step in which the two engines publish different numbers of events, all later numbers
differ, and so do the ids that contain them. From that step on, the events of both engines are paired, and the numbers
of the first engine are replaced by the numbers of the second. Before such a step, all numbers must be equal.
"""

import re
from difflib import SequenceMatcher
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from shoed.model.commands import Decide
from shoed.model.step import Commanded
from tests.oracle_engines import Output, Taken, value, without_added

NUMBERED: Final = ("id", "supersedes")  # keys of event data that hold such an id
QUESTIONS: Final = re.compile(r"(?<=question )\d+|(?<=one is )\d+")  # in a refusal


class Renumbering:
    """The translation of one session. Before `begun` it changes nothing."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix  # of the ids of events
        self.begun = False
        self.ids: dict[str, str] = {}  # of events
        self.questions: dict[str, str] = {}

    def command(self, taken: Taken) -> Taken:
        """The input, with the question number of the second engine."""
        match taken.input:
            case Commanded(command=Decide(question=question) as decision) if question in self.questions:
                other = replace(decision, question=self.questions[question])
                return replace(taken, input=replace(taken.input, command=other))
            case _:
                return taken

    def apply(self, first: Output, second: Output) -> Output:
        """The output of the first engine, with the numbers of the second."""
        if len(first) == 1 or len(second) == 1:  # one engine raised an error
            return first
        events, others = value(first, "events"), value(second, "events")
        if not self.begun and len(events) == len(others):
            return first
        self.begun = True
        self.align(events, others)
        state, question = value(first, "state"), value(first, "question")
        state["sequence"] = value(second, "state")["sequence"]
        if question is not None:
            question["id"] = self.questions.get(question["id"], question["id"])
        answers = value(first, "answers")
        for answer in answers:
            answer["detail"] = QUESTIONS.sub(lambda found: self.questions.get(found[0], found[0]), answer["detail"])
        changed = {"events": events, "state": state, "question": question, "answers": answers}
        return {**first, **{part: msgspec.json.encode(each) for part, each in changed.items()}}

    def align(self, events: list[Any], others: list[Any]) -> None:
        """Pair the events of a step, and replace the numbers of each pair by those of the second engine."""
        matcher = SequenceMatcher(None, list(map(content, events)), list(map(content, others)), autojunk=False)
        pairs: list[tuple[Any, Any]] = []
        for _, start, end, other_start, other_end in matcher.get_opcodes():
            if end - start == other_end - other_start:
                pairs += zip(events[start:end], others[other_start:other_end], strict=True)
        for event, other in pairs:
            self.ids[f"{self.prefix}-{event['sequence']}"] = f"{self.prefix}-{other['sequence']}"
            if event["type"] == other["type"] == "question.asked":
                self.questions[event["data"]["id"]] = other["data"]["id"]
            event["sequence"] = other["sequence"]
        for event in events:
            data = event["data"]
            for key in NUMBERED:
                names = self.questions if event["type"].startswith("question.") else self.ids
                if key in data:
                    data[key] = names.get(data[key], data[key])


def content(event: Any) -> bytes:  # noqa: ANN401  # JSON
    """An event without its numbers."""
    data = {key: each for key, each in without_added(event["data"]).items() if key not in NUMBERED}
    return msgspec.json.encode([event["type"], data], order="sorted")
