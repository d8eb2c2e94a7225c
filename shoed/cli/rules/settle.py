"""`shoed rules settle GAME`: rounds as JSON lines in, the pays of every bet out, one line for each line, in order.

Theory of operation: a line is parsed. Each card leads from one card state of the rule book to the next. The answer
consists of texts that many rounds share; each text is written once. All verdicts are those of the rules. All complete
lines that were received are answered before the next read.
"""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from io import BufferedReader, BytesIO
from typing import BinaryIO, Final, NamedTuple, NoReturn

import msgspec

from shoed.cli import ExitStatus
from shoed.errors import UsageError
from shoed.model.cards import RIGHT, Card, Rank
from shoed.model.irregularities import Stage
from shoed.rules.book import Offer, Pays, RuleBook
from shoed.rules.card_states import CardState, card_states
from shoed.rules.drawing import FULL_HAND, INITIAL_CARDS, TEN
from shoed.rules.insurance import offers_at, settle_at
from shoed.rules.results import PairRanks, Verdict, pair_ranks, verdicts
from shoed.typed_json import decoder

PIECE: Final = 1 << 16


class LineError(Exception):
    """A line that is answered with an error: a published code, a message, and the line's id as JSON."""

    def __init__(self, code: str, message: str, id_json: str = "null") -> None:
        super().__init__(message)
        self.answer = f'{{"id": {id_json}, "error": {json.dumps({"code": code, "message": message})}}}\n'


class RoundLine(msgspec.Struct):
    cards: list[str]
    id: msgspec.Raw = msgspec.Raw(b"null")  # returned unchanged


class RankedCard(NamedTuple):
    shown: str  # as JSON
    rank: Rank


class StateText(NamedTuple):
    """The parts of an answer that depend on the card state, as JSON."""

    complete: str
    outcome: str
    insurance: str


FACES: Final = {card.value: RankedCard(json.dumps(card.value), card.rank) for card in Card}
FACES.update({text.replace("10", "T"): face for text, face in FACES.items()})
PARSE: Final = decoder(RoundLine).decode


class RoundSettler:
    """Answers lines, by one rule book."""

    def __init__(self, rules: RuleBook, decks: int) -> None:
        self.book: Final = rules
        self.decks: Final = decks
        self.start: Final = card_states(rules).start
        self.verdicts: Final = verdicts(rules)
        self.values: Final = {rank: value % TEN for rank, value in rules.values.items()}
        self.lines = 0  # received
        self.faulty = False  # a line was answered with an error
        self._state_texts: dict[CardState, StateText] = {}
        self._pays_texts: dict[Verdict, tuple[str, str]] = {}

    def answer(self, line: bytes) -> str:
        try:
            self.lines += 1
            id_json, cards = read(line, self.lines)
            return self.settle(id_json, cards)
        except LineError as error:
            self.faulty = True
            return error.answer

    def settle(self, id_json: str, cards: Sequence[object]) -> str:
        try:
            faces = [FACES[each] for each in cards]  # type: ignore[index]  # a value that is not a text has no face
        except (KeyError, TypeError):
            raise bad_card(id_json, cards) from None
        state = self.start
        for face in faces:
            if state.due is None:
                raise excess_card(id_json, state, cards)
            state = state.after(self.values[face.rank])
        if len(faces) > self.decks:
            self.count(id_json, faces)
        player, banker, thirds = faces[0:INITIAL_CARDS:2], faces[1:INITIAL_CARDS:2], faces[INITIAL_CARDS:]
        verdict = self.verdicts.on(state, ranks(player), ranks(banker))
        if len(state.player) == FULL_HAND:
            player.append(thirds.pop(0))
        banker += thirds
        complete, outcome, insurance = self._state_texts.get(state) or self.state_text(state)
        established, pays = self._pays_texts.get(verdict) or self.pays_text(verdict)
        return (
            f'{{"id": {id_json}, "complete": {complete}, "outcome_established": {established}, "outcome": {outcome}, '
            f'"player": {{"cards": [{shown(player)}], "points": {state.player_points}}}, '
            f'"banker": {{"cards": [{shown(banker)}], "points": {state.banker_points}}}, '
            f'"pays": {pays}{insurance}}}\n'
        )

    def state_text(self, state: CardState) -> StateText:
        complete, outcome, insurance = state.due is None, "null", ""
        if complete:
            (result,) = state.results
            outcome = json.dumps(result.winner.value)
        if self.book.offers:
            stages = {stage.value: offers_at(self.book, state, stage) for stage in Stage}
            stages_json = {
                stage: None if offers is None else [self.offer_json(offer, state) for offer in offers]
                for stage, offers in stages.items()
            }
            insurance = f', "insurance": {json.dumps(stages_json)}'
        self._state_texts[state] = StateText(json.dumps(complete), outcome, insurance)
        return self._state_texts[state]

    def offer_json(self, offer: Offer, state: CardState) -> dict[str, str | None]:
        return {"bet": offer.bet, "odds": offer.odds.text, "pays": text(settle_at(offer, state))}

    def pays_text(self, verdict: Verdict) -> tuple[str, str]:
        pays = {bet: text(each.row.pays if each.row else None) for bet, each in verdict.bets.items()}
        self._pays_texts[verdict] = json.dumps(verdict.established), json.dumps(pays)
        return self._pays_texts[verdict]

    def count(self, id_json: str, faces: Sequence[RankedCard]) -> None:
        (face, times), *_ = Counter(faces).most_common(1)
        if times > self.decks:
            raise LineError(
                "too-many-of-a-card",
                f"{face.shown} occurs {times} times, and {self.decks} decks contain it {self.decks} times; "
                "correct the card or the number of decks",
                id_json,
            )


def ranks(hand: Sequence[RankedCard]) -> PairRanks:
    return pair_ranks(tuple([face.rank for face in hand]))


def shown(hand: Sequence[RankedCard]) -> str:
    return ", ".join([face.shown for face in hand])


def text(pays: Pays | None) -> str | None:
    return None if pays is None else pays.text


def read(line: bytes, number: int) -> tuple[str, Sequence[object]]:
    """The id as JSON, and the cards as written. `number`: of the line in the input, from 1."""
    try:
        parsed = PARSE(line.decode())
        return bytes(parsed.id).decode(), parsed.cards
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return read_slowly(line, number)


def read_slowly(line: bytes, number: int) -> tuple[str, Sequence[object]]:
    """Read a line that the fast parser refuses. The slower parser can report its id, and the position of an error."""
    try:
        value = json.loads(line.decode(), parse_constant=refuse_constant)
        id_json = json.dumps(value.get("id"), allow_nan=False) if isinstance(value, dict) else "null"
    except (ValueError, RecursionError) as error:
        raise bad_json(error, line, number) from None
    match value:
        case {"cards": [*cards]}:
            return id_json, cards
        case _:
            message = 'the line has no list "cards"; write {"id": ..., "cards": [...]}, the cards in dealt order'
            raise LineError("bad-line", message, id_json)


def refuse_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a number")


def bad_json(error: ValueError | RecursionError, line: bytes, number: int) -> LineError:
    match error:
        case _ if not line.strip():
            problem = "is empty"
        case json.JSONDecodeError(msg=reason, colno=column):
            problem = f"is not JSON: {reason[0].lower()}{reason[1:]} at column {column}"
        case UnicodeDecodeError(start=start):
            problem = f"is not UTF-8: byte 0x{line[start]:02X} at position {start + 1}"
        case RecursionError():
            problem = "is nested too deeply"
        case _:
            problem = f"is not JSON: {error}"
    return LineError("bad-json", f"line {number} {problem}; write one JSON object on each line")


def bad_card(id_json: str, cards: Sequence[object], where: str = "cards") -> LineError:
    at, wrong = next((at, each) for at, each in enumerate(cards) if not isinstance(each, str) or each not in FACES)
    return LineError("bad-card", f"{where}[{at}]: {json.dumps(wrong)} is not a card; {RIGHT}", id_json)


def excess_card(id_json: str, state: CardState, cards: Sequence[object]) -> LineError:
    due = len(state.player) + len(state.banker)
    message = f"{json.dumps(cards[due])} is not due: the round ended with its card {due}; remove the cards after it"
    return LineError("excess-card", message, id_json)


def settle(rules: RuleBook, decks: int, source: BufferedReader | BytesIO, sink: BinaryIO) -> int:
    """Answer all lines. The exit status is 1 if a line was answered with an error."""
    fewest, most = rules.decks
    if not fewest <= decks <= most:
        raise UsageError(f"--decks {decks}: {rules.id} has {fewest} to {most} decks; write a number in this range")
    settler = RoundSettler(rules, decks)
    stream(settler.answer, source, sink)
    return ExitStatus.WRONG if settler.faulty else ExitStatus.GOOD


def stream(answer: Callable[[bytes], str], source: BufferedReader | BytesIO, sink: BinaryIO) -> None:
    """Answer each line when it is complete. Lines that are received together are answered together."""
    unfinished: list[bytes] = []  # pieces of the last line
    while piece := source.read1(PIECE):
        first, *more = piece.split(b"\n")
        unfinished.append(first)
        if more:
            *lines, rest = b"".join(unfinished), *more
            sink.write("".join(map(answer, lines)).encode())
            sink.flush()
            unfinished = [rest]
    if rest := b"".join(unfinished):
        sink.write(answer(rest).encode())
        sink.flush()
