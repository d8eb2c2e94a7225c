"""The retained `state` message: enough for a later subscriber to draw the table."""

from collections.abc import Iterator, Mapping

import msgspec

from shoed.model.events import Hand, Paid, RoundResult
from shoed.model.incarnations import word_of
from shoed.model.moments import rfc3339
from shoed.rules.drawing import Hands
from shoed.rules.insurance import CARDS_AT, offers, waived
from shoed.rules.load import book
from shoed.table.asking import role_of
from shoed.table.assess import House, Standing, house_of, judge, shown
from shoed.table.context import pays_of, public_hands
from shoed.table.phase import OPEN, Phase
from shoed.table.questions import open_questions
from shoed.table.state import Comparison, Completed, Condition, LinkStatus, RaisedFault, TableState


class PublicHands(msgspec.Struct, frozen=True):
    player: Hand
    banker: Hand


class LastRound(msgspec.Struct, frozen=True):
    """The last completed round. `answer`: the comparison with the result that the shoe reported."""

    shoe: int
    round: int
    hands: PublicHands
    result: RoundResult
    integrity: str
    answer: Comparison
    void: bool = False
    pays: Mapping[str, Paid] = {}


class Offered(msgspec.Struct, frozen=True):
    """One insurance bet on offer: its odds and its clause."""

    bet: str
    odds: str
    clause: str


class PublicDevice(msgspec.Struct, frozen=True):
    """The condition of a device and of its link. `heard_at`: the arrival of the last bytes.

    `reason` of a closed link: the cause of the closure. `reason` of an open link: the open doubts of `device/doubted`,
    each in the form `reason: detail`, separated by `; `; null without an open doubt. `fault`: the last present fault.
    """

    link: LinkStatus
    reason: str | None
    heard_at: str | None
    fault: RaisedFault | None
    locked: bool


class OpenQuestion(msgspec.Struct, frozen=True):
    """One open question. The retained `question` has all fields of the first open question."""

    id: str
    revision: int
    question: str
    shoe: int | None
    round: int | None
    kind: str | None
    clause: str | None
    role: str | None
    bettor: str | None
    optional: bool


class PublicState(msgspec.Struct, frozen=True):
    """The state of a table. `sequence`: the last included event. `questions`: the open questions, in order.

    `device`: the condition of the shoe. `shuffler`: the condition of the shuffler; null for a table without a shuffler,
    and before the first observation of the shuffler. `insurance`: the insurance bets on offer. `journal`: the word of
    the journal file. `incarnation`: the word in the id of the last included event. `time`: the time of this event. A
    value is null if it is unknown.
    """

    sequence: str  # of the last included event
    phase: Phase
    game: str
    shoe: int | None
    shoe_integrity: str
    round: int | None
    hands: PublicHands
    last_round: LastRound | None
    device: PublicDevice
    insurance: tuple[Offered, ...] = ()
    shuffler: PublicDevice | None = None
    questions: tuple[OpenQuestion, ...] = ()  # the first one to ask in front
    journal: str | None = None
    incarnation: str | None = None
    time: str | None = None


def public_state(game: str, state: TableState, *, insurance: bool = True) -> PublicState:
    last = state.last
    house = house_of(game, state.record, insurance=insurance)
    found = judge(house, state.record)
    hands, place = shown(house, found), state.journal
    return PublicState(
        sequence=str(state.sequence),
        phase=state.phase,
        game=game,
        shoe=state.shoe.number or None,
        shoe_integrity=state.shoe.integrity,
        round=state.record.number or None,
        hands=PublicHands(*public_hands(book(game), hands)),
        last_round=None if last is None else last_round(last),
        device=public_device(state.device),
        insurance=on_offer(house, state, found.course.hands),
        shuffler=None if state.shuffler is None else public_device(state.shuffler),
        questions=tuple(shown_questions(game, state, found, insurance=insurance)) if state.asked else (),
        journal=place.words[0].word if place.words else None,
        incarnation=word_of(place.words, state.sequence) or None,
        time=None if place.utc_us is None else rfc3339(place.utc_us),
    )


def unfinished(game: str, state: TableState, *, insurance: bool = True) -> str | None:
    """The reason why the table is not between two rounds: a question that holds play, or an open round."""
    for question in public_state(game, state, insurance=insurance).questions:
        if not question.optional:
            return f"an answer to question {question.id}"
    return f"the end of round {state.shoe.number}.{state.record.number}" if state.phase in OPEN else None


def shown_questions(game: str, state: TableState, found: Standing, *, insurance: bool) -> Iterator[OpenQuestion]:
    opened = {each.topic: each for each in state.asked}
    for listed in open_questions(game, state, found, insurance=insurance):
        if (known := opened.get(listed.topic)) is None:
            continue
        asked, matter = listed.asked, listed.matter
        yield OpenQuestion(
            id=known.id,
            revision=known.revision,
            question=asked.ask.value,
            shoe=known.shoe or None,
            round=known.round or None,
            kind=matter.kind.value if matter else None,
            clause=asked.clause or None,
            role=role_of(asked),
            bettor=asked.bettor,
            optional=not asked.holds,
        )


def public_device(condition: Condition) -> PublicDevice:
    doubts = "; ".join(f"{each.reason.value}: {each.detail}" for each in condition.doubts)
    return PublicDevice(
        link=condition.link or LinkStatus.OFFLINE,
        reason=doubts or condition.reason or None,
        heard_at=None if condition.heard_utc_us is None else rfc3339(condition.heard_utc_us),
        fault=condition.fault,
        locked=condition.locked,
    )


def on_offer(house: House, state: TableState, hands: Hands) -> tuple[Offered, ...]:
    """The insurance bets on offer before the next card (I 3.12)."""
    stage = next((stage for stage, drawn in CARDS_AT.items() if drawn == len(hands)), None)
    ended = stage in waived(house.book, squeeze=state.record.squeeze)
    if stage is None or ended or state.phase is not Phase.DEALING or not house.insurance:
        return ()
    return tuple(Offered(each.bet, each.odds.text, each.clause) for each in offers(house.book, hands)[stage] or ())


def last_round(last: Completed) -> LastRound:
    completed = last.published
    return LastRound(
        shoe=completed.shoe,
        round=completed.round,
        hands=PublicHands(completed.player, completed.banker),
        result=last.ours,
        integrity=completed.integrity,
        answer=last.answer,
        void=last.void,
        pays=pays_of(completed),
    )
