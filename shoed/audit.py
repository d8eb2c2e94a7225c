"""`shoed rules settle GAME`: rounds as JSON lines in, what every bet of each pays out, one for one and in order.

Theory of operation: a line is parsed, its cards are walked along the standings of the rule book,
and the answer is put together from pieces that are alike for many rounds and were written once.
The rules say everything; here is reading and writing alone. All that has come is answered before
more is waited for.
"""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from io import BufferedReader, BytesIO
from typing import BinaryIO, Final, NamedTuple, NoReturn

import msgspec

from shoed.cards import RIGHT, Card, Rank
from shoed.errors import UsageError
from shoed.rules.book import Offer, Pays, RuleBook
from shoed.rules.drawing import FULL_HAND, INITIAL_CARDS, TEN
from shoed.rules.insurance import offers_at, settle_at
from shoed.rules.results import PairRanks, Verdict, pair_ranks, verdicts
from shoed.rules.standing import Standing, board
from shoed.words import Stage

PIECE: Final = 1 << 16
WRONG: Final = 1


class NoRoundError(Exception):
    """A line that is answered with an error: a code of the contract, a sentence, and the line's id as JSON."""

    def __init__(self, code: str, message: str, name: str = "null") -> None:
        super().__init__(message)
        self.told = f'{{"id": {name}, "error": {json.dumps({"code": code, "message": message})}}}\n'


class Line(msgspec.Struct):
    cards: list[str]
    id: msgspec.Raw = msgspec.Raw(b"null")  # goes back as it came


class Face(NamedTuple):
    shown: str  # as JSON
    rank: Rank


class Told(NamedTuple):
    """What an answer says of a standing, as JSON."""

    complete: str
    outcome: str
    insurance: str


FACES: Final = {card.value: Face(json.dumps(card.value), card.rank) for card in Card}
FACES.update({text.replace("10", "T"): face for text, face in FACES.items()})
PARSE: Final = msgspec.json.Decoder(Line).decode


class Auditor:
    """Answers lines by one rule book."""

    def __init__(self, rules: RuleBook, decks: int) -> None:
        self.book: Final = rules
        self.decks: Final = decks
        self.start: Final = board(rules).start
        self.verdicts: Final = verdicts(rules)
        self.worth: Final = {rank: worth % TEN for rank, worth in rules.values.items()}
        self.lines = 0  # so many have come
        self.faulty = False  # some line was answered with an error
        self._told: dict[Standing, Told] = {}
        self._pays: dict[Verdict, tuple[str, str]] = {}

    def answer(self, line: bytes) -> str:
        try:
            self.lines += 1
            name, cards = read(line, self.lines)
            return self.settle(name, cards)
        except NoRoundError as error:
            self.faulty = True
            return error.told

    def settle(self, name: str, cards: Sequence[object]) -> str:
        try:
            faces = [FACES[each] for each in cards]  # type: ignore[index]  # what is no text is no card either
        except (KeyError, TypeError):
            raise no_card(name, cards) from None
        standing = self.start
        for face in faces:
            if standing.due is None:
                raise excess(name, standing, cards)
            standing = standing.after(self.worth[face.rank])
        if len(faces) > self.decks:
            self.count(name, faces)
        player, banker, thirds = faces[0:INITIAL_CARDS:2], faces[1:INITIAL_CARDS:2], faces[INITIAL_CARDS:]
        verdict = self.verdicts.on(standing, ranks(player), ranks(banker))
        if len(standing.player) == FULL_HAND:
            player.append(thirds.pop(0))
        banker += thirds
        complete, outcome, insurance = self._told.get(standing) or self.tell(standing)
        established, pays = self._pays.get(verdict) or self.tell_pays(verdict)
        return (
            f'{{"id": {name}, "complete": {complete}, "outcome_established": {established}, "outcome": {outcome}, '
            f'"player": {{"cards": [{shown(player)}], "points": {standing.player_points}}}, '
            f'"banker": {{"cards": [{shown(banker)}], "points": {standing.banker_points}}}, '
            f'"pays": {pays}{insurance}}}\n'
        )

    def tell(self, standing: Standing) -> Told:
        complete, outcome, insurance = standing.due is None, "null", ""
        if complete:
            (result,) = standing.results
            outcome = json.dumps(result.winner.value)
        if self.book.offers:
            stages = {stage.value: offers_at(self.book, standing, stage) for stage in Stage}
            told = {
                name: None if offers is None else [self.tell_offer(offer, standing) for offer in offers]
                for name, offers in stages.items()
            }
            insurance = f', "insurance": {json.dumps(told)}'
        self._told[standing] = Told(json.dumps(complete), outcome, insurance)
        return self._told[standing]

    def tell_offer(self, offer: Offer, standing: Standing) -> dict[str, str | None]:
        return {"bet": offer.bet, "odds": offer.odds.text, "pays": text(settle_at(offer, standing))}

    def tell_pays(self, verdict: Verdict) -> tuple[str, str]:
        pays = {name: text(each.row.pays if each.row else None) for name, each in verdict.bets.items()}
        self._pays[verdict] = json.dumps(verdict.established), json.dumps(pays)
        return self._pays[verdict]

    def count(self, name: str, faces: Sequence[Face]) -> None:
        (face, times), *_ = Counter(faces).most_common(1)
        if times > self.decks:
            raise NoRoundError(
                "too-many-of-a-card",
                f"{face.shown} comes {times} times, and {self.decks} decks hold {self.decks}; "
                "correct the card, or give the number of decks",
                name,
            )


def ranks(hand: Sequence[Face]) -> PairRanks:
    return pair_ranks(tuple([face.rank for face in hand]))


def shown(hand: Sequence[Face]) -> str:
    return ", ".join([face.shown for face in hand])


def text(pays: Pays | None) -> str | None:
    return None if pays is None else pays.text


def read(line: bytes, number: int) -> tuple[str, Sequence[object]]:
    """The id as JSON, and the cards as they are written. `number`: which line of the input it is, from 1."""
    try:
        parsed = PARSE(line.decode())
        return bytes(parsed.id).decode(), parsed.cards
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return reread(line, number)


def reread(line: bytes, number: int) -> tuple[str, Sequence[object]]:
    """What is wrong with a line, by the slower parser, which gets as far as its id."""
    try:
        value = json.loads(line.decode(), parse_constant=refuse)
        name = json.dumps(value.get("id"), allow_nan=False) if isinstance(value, dict) else "null"
    except (ValueError, RecursionError) as error:
        raise not_json(error, line, number) from None
    match value:
        case {"cards": [*cards]}:
            return name, cards
        case _:
            message = 'the line has no list "cards"; write {"id": ..., "cards": [...]}, with the cards in dealt order'
            raise NoRoundError("bad-line", message, name)


def refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a number")


def not_json(error: ValueError | RecursionError, line: bytes, number: int) -> NoRoundError:
    match error:
        case _ if not line.strip():
            what = "is empty"
        case json.JSONDecodeError(msg=said, colno=column):
            what = f"is not JSON: {said[0].lower()}{said[1:]} at column {column}"
        case UnicodeDecodeError(start=start):
            what = f"is not UTF-8: byte 0x{line[start]:02X} at position {start + 1}"
        case RecursionError():
            what = "is nested too deeply"
        case _:
            what = f"is not JSON: {error}"
    return NoRoundError("bad-json", f"line {number} {what}; write one JSON object on each line")


def no_card(name: str, cards: Sequence[object], where: str = "cards") -> NoRoundError:
    at, wrong = next((at, each) for at, each in enumerate(cards) if not isinstance(each, str) or each not in FACES)
    return NoRoundError("bad-card", f"{where}[{at}]: {json.dumps(wrong)} is not a card; {RIGHT}", name)


def excess(name: str, standing: Standing, cards: Sequence[object]) -> NoRoundError:
    due = len(standing.player) + len(standing.banker)
    message = f"{json.dumps(cards[due])} is not due: the round ended with its card {due}; remove the cards after it"
    return NoRoundError("excess-card", message, name)


def settle(rules: RuleBook, decks: int, source: BufferedReader | BytesIO, sink: BinaryIO) -> int:
    """Exit status 1 if any line was answered with an error."""
    fewest, most = rules.decks
    if not fewest <= decks <= most:
        raise UsageError(f"--decks {decks}: {rules.id} is played with {fewest} to {most} decks")
    auditor = Auditor(rules, decks)
    stream(auditor.answer, source, sink)
    return WRONG if auditor.faulty else 0


def stream(answer: Callable[[bytes], str], source: BufferedReader | BytesIO, sink: BinaryIO) -> None:
    """Line by line, as they come; what came together is answered together."""
    begun: list[bytes] = []  # of a line that has not ended
    while piece := source.read1(PIECE):
        first, *more = piece.split(b"\n")
        begun.append(first)
        if more:
            *lines, rest = b"".join(begun), *more
            sink.write("".join(map(answer, lines)).encode())
            sink.flush()
            begun = [rest]
    if rest := b"".join(begun):
        sink.write(answer(rest).encode())
        sink.flush()
