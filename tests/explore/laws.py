"""The laws of a table that the explorer verifies on every transition.

Theory of operation: a `Witness` is a subscriber that knows the events alone; it contains the `Listener` of the other
tests. It keeps the last sequence number, the suspended round, the open questions and the cards left over. `check`
compares a transition with the witness and with the states before and after. A `Broken` names the law.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from traceback import extract_tb
from typing import Any, Final

import msgspec

from shoed.model import events
from shoed.model.cards import Card
from shoed.model.commands import Answer, Decide
from shoed.model.device_events import EventData
from shoed.model.events import Event, Slot
from shoed.model.observations import CardSeen, Side
from shoed.model.step import Commanded
from shoed.table import PublicQuestion, PublicState, TableState
from shoed.table.phase import MOVES
from tests.explore.inputs import Input, due_slot
from tests.listener import Listener

IN_A_ROUND: Final = ("not-due", "overdraw")  # the reasons of a card that was set aside and may serve the round
LEFT_OVER: Final = frozenset({"card-in-excess", "card-exposed", "order-altered", "wrong-count"})
ENDED: Final = ("complete", "corrected", "settled")
FACELESS: Final = "?"
FRAMES: Final = 4  # of an exception: two defects may end in one function


class Broken(Exception):
    """A law does not hold."""

    def __init__(self, law: str, message: str) -> None:
        super().__init__(f"{law}: {message}")
        self.law, self.message = law, message


def require(law: str, message: str, *, holds: object) -> None:
    if not holds:
        raise Broken(law, message)


def reachable() -> Mapping[str, frozenset[str]]:
    """The phases that moves lead to, from each phase."""
    after = {phase.value: {phase.value} for phase in {each for each, _ in MOVES} | set(MOVES.values())}
    for _ in after:
        for (before, _move), then in MOVES.items():
            for reached in after.values():
                reached.update({then.value} if before.value in reached else set())
    return {phase: frozenset(reached) for phase, reached in after.items()}


REACHABLE: Final = reachable()


class Witness:
    """The knowledge of a subscriber along one path."""

    def __init__(self, game: str) -> None:
        self.listener = Listener(game)
        self.sequence = 0
        self.suspended: tuple[int, int] | None = None
        self.questions: dict[str, str | None] = {}  # the open ones, each with the bettor who is asked
        self.left_over: tuple[Card, ...] = ()

    def copied(self) -> "Witness":
        after = object.__new__(Witness)
        after.__dict__.update(self.__dict__)
        after.questions = dict(self.questions)
        listener = object.__new__(Listener)
        listener.__dict__.update({name: copied(each) for name, each in self.listener.__dict__.items()})
        after.listener = listener
        return after

    def receive(self, event: Event) -> None:
        require("sequence", f"{event.sequence} follows {self.sequence}", holds=event.sequence == self.sequence + 1)
        self.sequence = event.sequence
        data = event.data
        match data:
            case events.RoundSuspended():
                require("suspended", "a suspended round is suspended again", holds=self.suspended is None)
                self.suspended = data.shoe, data.round
            case events.RoundResumed() | events.RoundVoided() | events.RoundCompleted() | events.RoundAbandoned():
                self.suspended = None if (data.shoe, data.round) == self.suspended else self.suspended
            case events.RoundStarted() | events.ShoeStarted():
                require("suspended", "a round begins while another is suspended", holds=self.suspended is None)
            case events.QuestionAsked():
                require("questions", f"question {data.id} is asked twice", holds=data.id not in self.questions)
                self.questions[data.id] = None
            case events.QuestionAnswered() | events.QuestionLapsed():
                require("questions", f"question {data.id} is not open", holds=data.id in self.questions)
                if isinstance(data, events.QuestionLapsed) or data.bettor in (None, self.questions[data.id]):
                    del self.questions[data.id]
            case _:
                pass
        try:
            self.listener.hear(data)
        except AssertionError as error:
            raise Broken("events", f"{event.type} contradicts the events before it: {where(error)}") from error


def copied(value: Any) -> Any:  # noqa: ANN401 -- a field of any type
    match value:
        case list() | set():
            return type(value)(value)
        case dict():
            return {name: dict(each) if isinstance(each, dict) else each for name, each in value.items()}
        case _:
            return value


def where(error: BaseException) -> str:
    """An exception, or its cause, with its innermost functions."""
    error = error.__cause__ or error
    frames = [f"{Path(each.filename).name}:{each.lineno} {each.name}" for each in extract_tb(error.__traceback__)]
    return f"{type(error).__name__} {error} at {' < '.join(reversed(frames[-FRAMES:]))}"


class Transition(msgspec.Struct, frozen=True):
    """One Step, as the explorer observes it."""

    input: Input
    before: TableState
    after: TableState
    events: tuple[Event, ...]
    answers: tuple[Answer, ...]
    was_shown: PublicState
    shown: PublicState  # after
    asked: PublicQuestion | None  # before
    asks: PublicQuestion | None  # after


def check(done: Transition, witness: Witness) -> None:
    """Verify every law of one Step. The witness already has its events."""
    require(
        "phase",
        f"no moves lead from {done.before.phase.value} to {done.after.phase.value}",
        holds=done.after.phase.value in REACHABLE[done.before.phase.value],
    )
    check_refusal(done)
    check_shown(done, witness)
    check_questions(done, witness)
    check_cards(done)


def check_refusal(done: Transition) -> None:
    if not isinstance(done.input.given, Commanded):
        return
    require("command", "a command has one answer", holds=len(done.answers) == 1)
    (answer,) = done.answers
    if not answer.accepted:
        require("command", "a refused command changes the state", holds=done.after == done.before)
        require("command", "a refused command publishes", holds=not done.events)
        require("command", "a refusal has a reason", holds=answer.detail)
    free = done.input.cost == 0 and isinstance(done.input.given.command, Decide)
    require("answerable", f"the role that is named may not answer: {answer.detail}", holds=answer.accepted or not free)


def check_shown(done: Transition, witness: Witness) -> None:
    """The state message agrees with the events."""
    shown, listener = done.shown, witness.listener
    require("state", "its sequence is not that of the last event", holds=shown.sequence == str(witness.sequence))
    expected = listener.drawn(witness.sequence, shown.device.heard_at)
    plain = msgspec.json.decode(msgspec.json.encode(shown))
    del plain["insurance"]
    if plain["last_round"] is not None:
        del plain["last_round"]["pays"]
    for name, each in expected.items():
        require("state", f"{name} is {plain[name]}, and by the events {each}", holds=plain[name] == each)


def check_questions(done: Transition, witness: Witness) -> None:
    phase, saved = done.after.phase.value, saved_questions(done.after)
    for each in saved.keys() & witness.questions.keys():
        witness.questions[each] = saved[each]
    require(
        "questions",
        f"questions {sorted(saved)} are saved, and the events leave {sorted(witness.questions)} open",
        holds=saved.keys() == witness.questions.keys(),
    )
    no_event = "no event suspended the round" if phase == "suspended" else f"no event ended the suspension: {phase}"
    require("suspended", no_event, holds=(phase == "suspended") == (witness.suspended is not None))


def check_first(done: Transition) -> None:
    """The published question is open; a suspended round publishes a question that it waits for."""
    asks, saved = done.asks, saved_questions(done.after)
    is_open = asks is None if not saved else asks is not None and asks.id in saved
    require("questions", f"question {asks and asks.id} is shown, and {sorted(saved)} are open", holds=is_open)
    waits = done.after.phase.value != "suspended" or (asks is not None and not asks.optional)
    require("suspended", "the round waits, and nothing is asked", holds=waits)


def saved_questions(state: TableState) -> dict[str, str | None]:
    """The open questions, each with the bettor who is asked."""
    asked: Any = msgspec.to_builtins(state)["asked"]
    several = [] if asked is None else [asked] if isinstance(asked, dict) else asked
    return {each["id"]: each["topic"].get("bettor") for each in several}


# --- cards


def check_cards(done: Transition) -> None:
    reported = [each for each, _ in done.input.seen if isinstance(each, CardSeen)]
    published = [each for each in done.events if isinstance(each.data, events.CardDrawn | events.CardSetAside)]
    cards_now = [each.data for each in published if not is_drawn_later(each.data, done.before)]
    faces = [each.card for each in cards_now if isinstance(each, events.CardDrawn | events.CardSetAside)]
    require("cards", "a report is not one event", holds=faces == [each.card for each in reported])
    record = msgspec.to_builtins(done.after)["record"]
    cards: list[dict[str, Any]] = list(record.get("cards", ()))
    known = [each["sequence"] for each in cards if each.get("sequence")]
    require("cards", "two cards of the record have one event", holds=len(known) == len(set(known)))
    for each in published:
        check_reported(each, cards, list(record.get("matters", ())), known)
    if done.after.phase.value in ENDED:
        check_ended(done.shown, cards, list(record.get("matters", ())))


def is_drawn_later(data: EventData, before: TableState) -> bool:
    """Whether the card was reported before: it was set aside, left over, or named by a person during a suspension."""
    if not isinstance(data, events.CardDrawn):
        return False
    return data.set_aside is not None or data.source == "person" or before.phase.value == "suspended"


def check_reported(event: Event, cards: list[dict[str, Any]], matters: list[dict[str, Any]], known: list[int]) -> None:
    """A drawn card has its place. A card that was set aside is on the record, or a matter is about it."""
    data = event.data
    if isinstance(data, events.CardDrawn):
        there = [each for each in cards if each.get("sequence") == event.sequence]
        require("cards", "a drawn card has no place", holds=[each["where"] for each in there] == ["placed"])
        require("cards", "a drawn card has another face", holds=there[0]["face"] == str(data.card))
    elif isinstance(data, events.CardSetAside) and data.reason in IN_A_ROUND:
        face = str(data.card) if data.card else None
        again = data.reason == "overdraw" and any(each["face"] == face for each in cards)
        between = any(each.get("face") == face and each["what"]["kind"] == "card-in-excess" for each in matters)
        no_round = data.round is None
        kept = event.sequence in known or again or between or no_round
        require("cards", f"{face} was set aside, and is lost", holds=kept)


def check_ended(shown: PublicState, cards: list[dict[str, Any]], matters: list[dict[str, Any]]) -> None:
    """After the round each card is in a hand, left over with a matter that names it, or put away."""
    waiting = [each["face"] for each in cards if each["where"] in ("waiting", "put-by")]
    require("cards", f"the round is over, and {waiting} wait", holds=not waiting)
    hands = Counter(map(str, (*shown.hands.player.cards, *shown.hands.banker.cards)))
    placed = [each for each in cards if each["where"] == "placed"]
    on_record = Counter(each["face"] or FACELESS for each in placed)
    require("cards", f"the hands have {hands - on_record}, and the record does not", holds=hands <= on_record)
    rest = on_record - hands
    counted = [each for each in matters if each["status"] in ("open", "ruled")]
    if rest:
        explained = any(each["what"]["kind"] in LEFT_OVER for each in counted)
        require("cards", f"{rest} are left over, and no matter is about them", holds=explained)


# --- consequences


def check_consequence(done: Transition, choice: str) -> None:
    """The published consequence of this answer is its effect."""
    asked = done.asked
    if asked is None or not isinstance(done.input.given, Commanded):
        return
    expected = next((each for each in asked.consequences if shown_as(asked, each.choice) == choice), None)
    if expected is None:
        return

    def same(key: str, expected_value: object, actual: object) -> None:
        name = f"{asked.question} {choice}: {key} is shown as {expected_value}, and is {actual}"
        require("consequence", name, holds=expected_value == actual)

    of = asked.shoe, asked.round
    ended = [each.data for each in done.events if isinstance(each.data, events.RoundVoided)]
    voided = [each.clause for each in ended if (each.shoe, each.round) == of]
    if of != (done.was_shown.shoe, done.was_shown.round):  # an earlier round: its cards are not those of the table
        same("void", expected.void, (voided[0] or "") if voided else None)
        return
    if done.before.phase.value != "voided":
        same("void", expected.void, (voided[0] or "") if voided else None)
    then = done.asks
    same("then_asks", expected.then_asks, None if then is None or then.optional else then.question)
    if then is None and expected.void is None:
        hands = done.shown.hands
        same("player", expected.player, hands.player)
        same("banker", expected.banker, hands.banker)
        same("due", place(expected.due), place(slot_of(done.shown)))
        resumed = [each.data.carried for each in done.events if isinstance(each.data, events.RoundResumed)]
        if resumed and expected.outcome is None:
            same("carried", expected.carried, resumed[-1])
        if expected.outcome is not None:
            last = done.shown.last_round
            same("outcome", expected.outcome, last and last.result.outcome)
            same("pays", expected.pays, last and {bet: paid.pays for bet, paid in last.pays.items()})


def shown_as(asked: PublicQuestion, choice: tuple[str, ...]) -> str:
    name = " ".join(choice)
    return name.removeprefix("any ") + "S" if asked.question == "face" and name.startswith("any ") else name


def place(due: Slot | None) -> tuple[Side, int] | None:
    """A slot without its index. The index counts all cards that left the shoe for the round."""
    return None if due is None else (due.hand, due.position)


def slot_of(shown: PublicState) -> Slot | None:
    """The due slot, by the hands alone."""
    player, banker = shown.hands.player.cards, shown.hands.banker.cards
    due = due_slot(player, banker)
    return None if due is None else Slot(Side(due[0].value), due[1], len(player) + len(banker) + 1)


# --- the end of a suspension


def without_end(suspended: Mapping[bytes, bool], answers: Mapping[bytes, set[bytes]]) -> Iterator[bytes]:
    """The suspended states without a sequence of answers that ends the suspension.

    Every answer of every state is a transition of the exploration. One search runs backwards over these transitions,
    from all states that are not suspended. A state that is not expanded yet counts as one that leads out.
    """
    before: dict[bytes, list[bytes]] = {}
    for key, following in answers.items():
        for each in following:
            before.setdefault(each, []).append(key)
    out = [key for key in suspended if not suspended[key] or key not in answers]
    known = set(out)
    while out:
        for key in before.get(out.pop(), ()):
            if key not in known:
                known.add(key)
                out.append(key)
    yield from (key for key in suspended if key not in known)
