"""The published events: their names, the exact JSON of each, and their page of documentation."""

import re
from enum import Enum

import msgspec
import pytest
from msgspec.structs import fields

from docs.events_page import MOVE_MEANINGS, PHASES, SET_ASIDE, WORDS, events_page
from firmware_protocols.family import Reason
from shoed.model.cards import Card
from shoed.model.device_events import (
    DeviceChanged,
    DeviceCleared,
    DeviceDoubted,
    DeviceEvent,
    DeviceFault,
    DeviceIdentified,
    DeviceLocked,
    DeviceOffline,
    DeviceOnline,
    DeviceOrderAnswered,
    DeviceQuiet,
    DeviceTrusted,
    DeviceUnlocked,
    EventData,
    LineClashed,
    LineMissed,
    LineRejected,
    OrderResult,
    SetDelivered,
    SetFailed,
    SetRecognised,
    SetShuffled,
    SetShuffling,
)
from shoed.model.events import (
    TYPES,
    BetsClosed,
    BetsLate,
    CardDrawn,
    CardSetAside,
    Event,
    Hand,
    InsuranceWaived,
    IrregularityNoticed,
    IrregularityRuled,
    Measured,
    Paid,
    Points,
    QuestionAnswered,
    QuestionAsked,
    QuestionLapsed,
    QuestionRevised,
    ReturnedBets,
    RoundAbandoned,
    RoundCompleted,
    RoundConfirmed,
    RoundCorrected,
    RoundDisputed,
    RoundOvertaken,
    RoundResult,
    RoundResumed,
    RoundSettled,
    RoundStarted,
    RoundSuspended,
    RoundUnconfirmed,
    RoundVoided,
    Seen,
    ShoeCut,
    ShoeEmptied,
    ShoeStarted,
    Slot,
)
from shoed.model.incarnations import Because, JournalContinued
from shoed.model.observations import Capability, Device, DeviceDoubt, Outcome, Pair, Side
from shoed.rules.book import BetAction, LateEffect, Then
from shoed.table.phase import MOVES, Move, Phase
from shoed.table.public_state import LastRound, PublicDevice
from shoed.table.state import Comparison, LinkStatus
from tests.listener import OUTSIDE
from tests.observed import TableRun, card, cards

MEASURED = Measured("2023-11-14T22:13:20.123456Z", 75, 97, None, 120_000)
HAND = Hand((Card.S8, Card.H10), 8)
HAND_JSON = '{"cards":["8S","10H"],"points":8}'
TIE = RoundResult(Outcome.TIE, ())
TIE_JSON = '{"outcome":"tie","pairs":[]}'
FORCED_JSON = '{"outcome":"forced-end","pairs":["player","banker"]}'
NOTHING = Hand((), 0)
NOTHING_JSON = '{"cards":[],"points":0}'
DUE = Slot(Side.BANKER, 2, 4)
DUE_JSON = '{"hand":"banker","position":2,"index":4}'

EXAMPLES: list[tuple[str, EventData, str]] = [
    ("shoe.started", ShoeStarted(shoe=2, shoe_integrity="complete"), '{"shoe":2,"shoe_integrity":"complete"}'),
    ("shoe.cut", ShoeCut(shoe=None, round=None), '{"shoe":null,"round":null,"shoe_integrity":"partial"}'),
    (
        "shoe.emptied",
        ShoeEmptied(shoe=1, round=2, author="ann", role="dealer"),
        '{"shoe":1,"round":2,"author":"ann","role":"dealer"}',
    ),
    (
        "round.started",
        RoundStarted(shoe=1, round=2, game="commission", opened_by="card", shoe_integrity="partial"),
        '{"shoe":1,"round":2,"game":"commission","opened_by":"card","shoe_integrity":"partial"}',
    ),
    (
        "card.drawn",
        CardDrawn(
            shoe=1,
            round=2,
            index=3,
            hand=Side.PLAYER,
            card=Card.H10,
            points=Points(8, 0),
            provenance=9,
            set_aside="word-bac-901-7",
            source="person",
            measured=MEASURED,
        ),
        (
            '{"shoe":1,"round":2,"index":3,"hand":"player","card":"10H","points":{"player":8,"banker":0},'
            '"provenance":9,"set_aside":"word-bac-901-7","source":"person",'
            '"measured":{"drawn_at":"2023-11-14T22:13:20.123456Z","within_ms":75,"quality":97,"code":null,'
            '"passage_us":120000}}'
        ),
    ),
    (
        "card.set-aside",
        CardSetAside(
            shoe=1,
            round=None,
            card=Card.CA,
            reason="no-round",
            reported=Seen(card=Card.CA, hand="banker", position=2),
            provenance=9,
            count=3,
            measured=Measured(code="beef"),
        ),
        (
            '{"shoe":1,"round":null,"card":"AC","reason":"no-round",'
            '"reported":{"card":"AC","hand":"banker","position":2,"result":null},"provenance":9,"count":3,'
            '"measured":{"drawn_at":null,"within_ms":null,"quality":null,"code":"beef","passage_us":null}}'
        ),
    ),
    (
        "round.completed",
        RoundCompleted(
            shoe=1,
            round=2,
            game="commission",
            player=HAND,
            banker=HAND,
            outcome=Outcome.TIE,
            pairs=(Pair.BANKER,),
            integrity="complete",
        ),
        (
            f'{{"shoe":1,"round":2,"game":"commission","player":{HAND_JSON},"banker":{HAND_JSON},'
            '"outcome":"tie","pairs":["banker"],"integrity":"complete"}'
        ),
    ),
    (
        "round.confirmed",
        RoundConfirmed(shoe=1, round=2, ours=TIE, theirs=TIE),
        f'{{"shoe":1,"round":2,"ours":{TIE_JSON},"theirs":{TIE_JSON}}}',
    ),
    (
        "round.disputed",
        RoundDisputed(shoe=1, round=2, ours=TIE, theirs=RoundResult(Outcome.FORCED_END, (Pair.PLAYER, Pair.BANKER))),
        f'{{"shoe":1,"round":2,"ours":{TIE_JSON},"theirs":{FORCED_JSON}}}',
    ),
    ("round.unconfirmed", RoundUnconfirmed(shoe=1, round=2), '{"shoe":1,"round":2}'),
    (
        "round.suspended",
        RoundSuspended(shoe=1, round=2, due=DUE, seen=Seen(result=TIE), gap=True),
        (
            f'{{"shoe":1,"round":2,"due":{DUE_JSON},'
            f'"seen":{{"card":null,"hand":null,"position":null,"result":{TIE_JSON}}},"gap":true}}'
        ),
    ),
    (
        "round.abandoned",
        RoundAbandoned(shoe=1, round=2, player=HAND, banker=NOTHING, reason="a new shoe began"),
        f'{{"shoe":1,"round":2,"player":{HAND_JSON},"banker":{NOTHING_JSON},"reason":"a new shoe began"}}',
    ),
    (
        "round.resumed",
        RoundResumed(shoe=1, round=2, player=HAND, banker=NOTHING, due=DUE, carried=(Card.CA,), phase="dealing"),
        (
            f'{{"shoe":1,"round":2,"player":{HAND_JSON},"banker":{NOTHING_JSON},"due":{DUE_JSON},"carried":["AC"],"phase":"dealing"}}'
        ),
    ),
    (
        "round.voided",
        RoundVoided(
            shoe=1,
            round=2,
            kind="foreign-card",
            clause="5.5.1",
            returns="5.16",
            reading=None,
            player=HAND,
            banker=NOTHING,
            supersedes="word-bac-901-7",
            author="ann",
            role="dealer",
        ),
        (
            '{"shoe":1,"round":2,"kind":"foreign-card","clause":"5.5.1","returns":"5.16","reading":null,'
            f'"player":{HAND_JSON},"banker":{NOTHING_JSON},"supersedes":"word-bac-901-7","author":"ann",'
            '"role":"dealer"}'
        ),
    ),
    (
        "round.corrected",
        RoundCorrected(
            shoe=1,
            round=2,
            game="commission",
            player=HAND,
            banker=NOTHING,
            outcome=None,
            pairs=(),
            integrity="partial",
            due=DUE,
            supersedes="word-bac-901-7",
        ),
        (
            f'{{"shoe":1,"round":2,"game":"commission","player":{HAND_JSON},"banker":{NOTHING_JSON},"outcome":null,'
            f'"pairs":[],"integrity":"partial","due":{DUE_JSON},"supersedes":"word-bac-901-7"}}'
        ),
    ),
    (
        "round.settled",
        RoundSettled(
            shoe=1,
            round=2,
            outcome=Outcome.TIE,
            pays={"tie": Paid("8:1", "4.1.3")},
            returned=(ReturnedBets("others", "5.12.2"),),
            carried=(Card.CA,),
            supersedes="word-bac-901-9",
        ),
        (
            '{"shoe":1,"round":2,"outcome":"tie","pays":{"tie":{"pays":"8:1","clause":"4.1.3"}},'
            '"returned":[{"bettor":"others","clause":"5.12.2","bet":null}],"carried":["AC"],"supersedes":"word-bac-901-9"}'
        ),
    ),
    ("bets.closed", BetsClosed(shoe=1, round=2, closed_by="card"), '{"shoe":1,"round":2,"closed_by":"card"}'),
    (
        "bets.late",
        BetsLate(shoe=1, round=2, act="bet", then="refused", clause="5.6", author="ann", role="dealer"),
        '{"shoe":1,"round":2,"act":"bet","then":"refused","clause":"5.6","author":"ann","role":"dealer"}',
    ),
    (
        "insurance.waived",
        InsuranceWaived(shoe=1, round=2, clause="3.14", author="ann", role="dealer"),
        '{"shoe":1,"round":2,"clause":"3.14","author":"ann","role":"dealer"}',
    ),
    (
        "irregularity.noticed",
        IrregularityNoticed(
            shoe=1,
            round=None,
            number=None,
            kind="drawn-together",
            at=3,
            count=2,
            evidence="40 ms apart",
            author=None,
            role=None,
            late=False,
        ),
        (
            '{"shoe":1,"round":null,"number":null,"kind":"drawn-together","at":3,"count":2,"evidence":"40 ms apart",'
            '"author":null,"role":null,"late":false,"other":null}'
        ),
    ),
    (
        "irregularity.ruled",
        IrregularityRuled(
            shoe=1,
            round=2,
            number=1,
            kind="drawn-together",
            then="order-cards",
            clause="5.10",
            decides="pit-supervisor",
            silent=False,
            reading=None,
        ),
        (
            '{"shoe":1,"round":2,"number":1,"kind":"drawn-together","then":"order-cards","clause":"5.10",'
            '"decides":"pit-supervisor","silent":false,"reading":null}'
        ),
    ),
    (
        "question.asked",
        QuestionAsked(
            shoe=1,
            round=2,
            id="3",
            question="card-order",
            clause="5.10",
            role="pit-supervisor",
            optional=False,
            player=HAND,
            banker=NOTHING,
        ),
        (
            '{"shoe":1,"round":2,"id":"3","question":"card-order","clause":"5.10","role":"pit-supervisor",'
            f'"optional":false,"player":{HAND_JSON},"banker":{NOTHING_JSON}}}'
        ),
    ),
    (
        "question.answered",
        QuestionAnswered(
            shoe=1,
            round=2,
            id="3",
            question="option",
            choice=("return",),
            bettor="bob",
            author="bob",
            role=None,
            carried=(Card.CA,),
            revision=2,
        ),
        (
            '{"shoe":1,"round":2,"id":"3","question":"option","choice":["return"],"bettor":"bob","author":"bob",'
            '"role":null,"carried":["AC"],"revision":2}'
        ),
    ),
    (
        "round.overtaken",
        RoundOvertaken(shoe=1, round=2, reason="a new shoe began"),
        '{"shoe":1,"round":2,"reason":"a new shoe began"}',
    ),
    (
        "question.revised",
        QuestionRevised(
            shoe=1, round=2, id="3", question="face", revision=2, player=Hand((Card.CA,), 1), banker=Hand((), 0)
        ),
        (
            '{"shoe":1,"round":2,"id":"3","question":"face","revision":2,'
            '"player":{"cards":["AC"],"points":1},"banker":{"cards":[],"points":0}}'
        ),
    ),
    (
        "question.lapsed",
        QuestionLapsed(shoe=1, round=None, id="3", question="next-round", reason="the round is over"),
        '{"shoe":1,"round":null,"id":"3","question":"next-round","reason":"the round is over"}',
    ),
    ("set.recognised", SetRecognised(set_id="A7"), '{"set_id":"A7"}'),
    ("set.shuffling", SetShuffling(set_id="A7"), '{"set_id":"A7"}'),
    ("set.shuffled", SetShuffled(set_id="A7"), '{"set_id":"A7"}'),
    ("set.failed", SetFailed(reason="a card jammed", set_id="A7"), '{"reason":"a card jammed","set_id":"A7"}'),
    (
        "set.delivered",
        SetDelivered(set_id=None, cards=416, missing={Card.D9: 1}, extra={Card.C2: 1}, unread=0),
        '{"set_id":null,"cards":416,"missing":{"9D":1},"extra":{"2C":1},"unread":0}',
    ),
    (
        "device.online",
        DeviceOnline(port="tcp://shoe:4001", count=3),
        '{"device":"shoe","port":"tcp://shoe:4001","count":3}',
    ),
    (
        "device.offline",
        DeviceOffline(device=Device.SHUFFLER, port="p", reason="refused", count=3),
        '{"device":"shuffler","port":"p","reason":"refused","count":3}',
    ),
    (
        "device.quiet",
        DeviceQuiet(port="p", since="2023-11-14T22:13:20.000000Z"),
        '{"device":"shoe","port":"p","since":"2023-11-14T22:13:20.000000Z"}',
    ),
    (
        "device.doubted",
        DeviceDoubted(reason=DeviceDoubt.WRONG_ROLE, detail="a shuffler"),
        '{"device":"shoe","reason":"wrong-role","detail":"a shuffler"}',
    ),
    ("device.trusted", DeviceTrusted(reason=DeviceDoubt.NO_HELLO), '{"device":"shoe","reason":"no-hello"}'),
    (
        "device.identified",
        DeviceIdentified(
            vendor="R", model="S1", serial="7", firmware="3.1", protocol="3", capabilities=(Capability.LOCK,)
        ),
        '{"device":"shoe","vendor":"R","model":"S1","serial":"7","firmware":"3.1","protocol":"3","capabilities":["lock"]}',
    ),
    (
        "device.fault",
        DeviceFault(code=1, name="cannot-read", blocking=True),
        '{"device":"shoe","code":1,"name":"cannot-read","blocking":true}',
    ),
    ("device.cleared", DeviceCleared(code=1, name="cannot-read"), '{"device":"shoe","code":1,"name":"cannot-read"}'),
    ("device.locked", DeviceLocked(), '{"device":"shoe"}'),
    ("device.unlocked", DeviceUnlocked(), '{"device":"shoe"}'),
    ("device.changed", DeviceChanged(address="01", value="0005"), '{"device":"shoe","address":"01","value":"0005"}'),
    (
        "device.order-answered",
        DeviceOrderAnswered(
            order="lock",
            card=None,
            result=OrderResult.REFUSED,
            detail="busy",
            author="ann",
            role=None,
        ),
        '{"device":"shoe","order":"lock","card":null,"result":"refused","detail":"busy","author":"ann","role":null}',
    ),
    (
        "line.rejected",
        LineRejected(
            bytes="05 05", offset=7, reason="torn", detail="incomplete report: the next byte is 05", count=1, size=2
        ),
        (
            '{"device":"shoe","bytes":"05 05","offset":7,"reason":"torn",'
            '"detail":"incomplete report: the next byte is 05","count":1,"size":2,"unkept":0}'
        ),
    ),
    (
        "journal.continued",
        JournalContinued(
            incarnation="k3v9x2mq", previous=None, reason=Because.DAMAGED, detail="not a database", kept=0, known=96
        ),
        '{"incarnation":"k3v9x2mq","previous":null,"reason":"damaged","detail":"not a database","kept":0,"known":96}',
    ),
    ("line.missed", LineMissed(expected="2", seen="4"), '{"device":"shoe","expected":"2","seen":"4","at_least":null}'),
    (
        "line.clashed",
        LineClashed(sequence="4", bytes="05 34", previous="05 34 50"),
        '{"device":"shoe","sequence":"4","bytes":"05 34","previous":"05 34 50"}',
    ),
]


@pytest.mark.parametrize(("name", "data", "text"), EXAMPLES)
def test_the_json_of_each_event_has_exactly_its_fields(name: str, data: EventData, text: str) -> None:
    """The JSON is compared byte for byte, an unknown value is `null`, and the type is the name."""
    assert msgspec.json.encode(data).decode() == text
    assert Event(1, 0, data).type == name


def test_each_event_has_a_unique_name() -> None:
    """The form is `<noun>.<verb>` in lower case."""
    assert set(TYPES) == {*EventData.__subclasses__(), *DeviceEvent.__subclasses__()} - {DeviceEvent}
    assert all(re.fullmatch(r"[a-z]+\.[a-z]+(-[a-z]+)*", name) for name in TYPES.values())
    assert len(set(TYPES.values())) == len(TYPES)
    assert {name for name, _, _ in EXAMPLES} == set(TYPES.values())


def test_the_page_describes_each_event_and_each_field() -> None:
    """Each event has a section, and each field of its JSON has a row."""
    page = events_page()
    for name, _, text in EXAMPLES:
        _, found, section = page.partition(f"\n#### `{name.replace('.', '/')}`\n")
        assert found
        section = re.split(r"\n#{2,4} ", section)[0]
        assert re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE) == list(msgspec.json.decode(text))


def test_each_link_of_the_page_has_a_heading() -> None:
    """The page links to each shape."""
    page = events_page()
    headings = {heading.lower() for heading in re.findall(r"^#+ (\w+)$", page, re.MULTILINE)}
    links = set(re.findall(r"\]\(#(\w+)\)", page))
    assert links <= headings
    assert {
        "hand",
        "points",
        "slot",
        "roundresult",
        "seen",
        "lastround",
        "publicdevice",
        "raisedfault",
        "events",
        "state",
    } <= links


def test_the_page_draws_each_legal_move() -> None:
    """Each row of MOVES is on one arrow of the diagram, and each phase and move has an explanation."""
    arrows = re.findall(r"^    ([\w-]+) --> ([\w-]+): (.*)$", events_page(), re.MULTILINE)
    drawn = {(Phase(one), Move(move)): Phase(other) for one, other, moves in arrows for move in moves.split(", ")}
    assert drawn == MOVES
    assert set(PHASES) == set(Phase)
    assert set(MOVE_MEANINGS) == set(Move)


def test_the_page_marks_each_field_that_may_be_absent() -> None:
    """The type of a field contains "or absent" exactly if an event without a value for the field lacks the field."""
    page = events_page()
    for name, data, _ in EXAMPLES:
        shortest = type(data)(**{each.name: getattr(data, each.name) for each in fields(data) if each.required})
        present = msgspec.json.decode(msgspec.json.encode(shortest))
        _, _, section = page.partition(f"\n#### `{name.replace('.', '/')}`\n")
        rows = re.findall(r"^\| `(\w+)` \| (.*) \|$", re.split(r"\n#{2,4} ", section)[0], re.MULTILINE)
        assert [field for field, kind in rows if kind.endswith(", or absent")] == [
            field for field, _ in rows if field not in present
        ]


def test_no_paragraph_of_the_page_is_formatted_as_code() -> None:
    """Four spaces at the start of a line format it as code; only the diagram and the example are code."""
    prose = re.sub(r"```.*?```", "", events_page(), flags=re.DOTALL)
    assert [line for line in prose.split("\n") if line.startswith(" ") or line.endswith(" ")] == []


def test_the_page_lists_each_value_of_the_reason_fields() -> None:
    """It covers the reasons of card/set-aside and of line/rejected."""
    page = events_page()
    assert all(f"- `{word}`: {meaning}\n" in page for words in WORDS.values() for word, meaning in words.items())
    assert set(SET_ASIDE) == {*OUTSIDE, "not-due", "no-round"}
    enums: dict[tuple[type, str], type[Enum]] = {
        (LineRejected, "reason"): Reason,
        (BetsLate, "act"): BetAction,
        (BetsLate, "then"): LateEffect,
        (IrregularityRuled, "then"): Then,
        (DeviceDoubted, "reason"): DeviceDoubt,
        (DeviceIdentified, "capabilities"): Capability,
        (LastRound, "answer"): Comparison,
        (PublicDevice, "link"): LinkStatus,
    }
    for field, values in enums.items():
        assert set(WORDS[field]) == {each.value for each in values}


def test_each_reason_of_a_card_set_aside_is_on_the_page() -> None:
    """It covers each place, with and without a face, before, in and after a round."""
    places = ["P1", "P2", "B1", "B2", "B3", "burn", "first-card", "locked", "error", "set-up", "overdraw", "unknown"]
    reasons = set()
    for before in ("", "P1 8S", "P1 8S,B1 3H,P2 KS,B2 4H"):
        for place in places:
            for face in ("8S", "?"):
                table = TableRun()
                table.hear_each(cards(before) if before else [])
                published = table.hear(card(place, face))
                reasons |= {each.reason for each in published if isinstance(each, CardSetAside)}
    assert reasons == set(SET_ASIDE)
