"""Typed words and lines of JSON become a command, or an error with its remedy."""

from random import Random
from typing import Final

import msgspec
import pytest

from shoed.errors import NoSuchTable, UsageError
from shoed.model.cards import Card
from shoed.model.commands import (
    Answer,
    AnyCommand,
    Author,
    CloseBets,
    CorrectCard,
    Decide,
    OpenBets,
    ReportIrregularity,
    ReportLate,
    VoidRound,
)
from shoed.model.irregularities import FOLLOWS, IrregularityKind, Role, Stage
from shoed.model.requests import (
    COMMANDS,
    EXAMPLE,
    NOTICES,
    CaptureRequest,
    Request,
    RestartRequest,
    StatusRequest,
    command_of,
    json_line,
    read,
    typed_command,
    typed_request,
)
from shoed.model.step import Commanded

LINE: Final = (
    b'{"table":"bac-901","id":"7f3a","author":"ann","role":"dealer",'
    b'"command":{"command":"notice","kind":"foreign-card","at":3}}\n'
)


def lined(**fields: object) -> bytes:
    """A valid request with some fields replaced."""
    good = {"table": "bac-901", "id": "7", "author": "ann", "role": None, "command": {"command": "open-bets"}}
    return msgspec.json.encode(good | fields)


def refused(line: bytes) -> Answer:
    answer = read(line)
    assert isinstance(answer, Answer)
    assert not answer.accepted
    return answer


@pytest.mark.parametrize(
    ("words", "command"),
    [
        ("open-bets", OpenBets()),
        ("close-bets", CloseBets()),
        ("notice kind=other", ReportIrregularity(kind=IrregularityKind.OTHER)),
        ("foreign-card at=3", ReportIrregularity(kind=IrregularityKind.FOREIGN_CARD, at=3)),
        (
            "interruption of_the_dealing=no",
            ReportIrregularity(kind=IrregularityKind.INTERRUPTION, of_the_dealing=False),
        ),
        (
            "drawn-together count=3 order_known=yes",
            ReportIrregularity(kind=IrregularityKind.DRAWN_TOGETHER, count=3, order_known=True),
        ),
        (
            "drawn-together order=8S,th",
            ReportIrregularity(kind=IrregularityKind.DRAWN_TOGETHER, order=(Card.S8, Card.H10)),
        ),
        (
            "insurance-neglected stage=after-four",
            ReportIrregularity(kind=IrregularityKind.INSURANCE_NEGLECTED, stage=Stage.AFTER_FOUR),
        ),
        ("late act=bet", ReportLate(act="bet")),
        ("decide question=12 choice=void", Decide(question="12", choice="void")),
        ("decide question=12 choice=8S,10H bettor=b", Decide(question="12", choice=("8S", "10H"), bettor="b")),
        ("correct index=2 card=10h", CorrectCard(index=2, card=Card.H10)),
        ("void round=7", VoidRound(round=7)),
    ],
)
def test_words_become_a_command(words: str, command: AnyCommand) -> None:
    """The type of a key determines the form of its value; each kind of notice is also a command."""
    word, *pairs = words.split()
    assert typed_command(word, pairs) == command


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("opn-bets", '"opn-bets" is not a command; did you mean open-bets?'),
        ("foregn-card", '"foregn-card" is not a command; did you mean foreign-card?'),
        ("xyzzy", '"xyzzy" is not a command; give one of open-bets, close-bets, '),
        ("void rund=3", 'void: "rund" is not a key; did you mean round?'),
        ("void 3", 'void: "3" is not KEY=VALUE; give one of round'),
        ("open-bets at=3", 'open-bets: "at" is not a key; remove "at": there are no keys here'),
        ("void round=x", 'void: round: "x" is not valid; give a whole number from 1 to 9999'),
        ("void round=0", "void: round: 0 is not valid; give a whole number from 1 to 9999"),
        ("void round=10000", "void: round: 10000 is not valid; give"),
        ("void round=" + "9" * 5000, f'void: round: "{"9" * 60}..." is not valid; give a whole number from 1 to 9999'),
        ("void round=\u0663", 'void: round: "\u0663" is not valid; give'),
        ("void round=1 round=2", "void: round is given twice; give round once"),
        ("foreign-card kind=other", "notice: kind is given twice; give kind once"),
        ("foreign-card order_known=true", 'notice: order_known: "true" is not valid; give yes or no'),
        ("correct index=1", "correct: card is missing; give a card, such as 8S or 10H"),
        ("correct index=1 card=11H", 'correct: card: "11H" is not valid; give a card, such as 8S or 10H'),
        ("correct index=1 card=", 'correct: card: "" is not valid; give a card, such as 8S or 10H'),
        ("wrong-count order=8S,", 'notice: order: "" is not valid; give at most 8 cards, such as 8S,10H'),
        ("wrong-count order=8S,XX,YY", 'notice: order: "XX" is not valid; give at most 8 cards, such as 8S,10H'),
        ("wrong-count order=" + ",".join(["8S"] * 9), "notice: order: 9 items are too many; give at most 8 cards"),
        ("decide question=1 choice=8S,", 'decide: choice: "" is not valid; give a word, or at most 8 words'),
        ("decide question= choice=void", 'decide: question: "" is not valid; give text of 1 to 200 characters'),
        ("insurance-neglected stage=late", 'notice: stage: "late" is not valid; give one of after-four, '),
    ],
)
def test_a_wrong_word_is_named_with_its_remedy(words: str, message: str) -> None:
    """The message names the command, the key and the value, and states a valid value."""
    word, *pairs = words.split()
    with pytest.raises(UsageError) as error:
        typed_command(word, pairs)
    assert str(error.value).startswith(message)


def test_a_request_is_one_line() -> None:
    """Equal requests have equal bytes, and the bytes are read as the request."""
    assert json_line(EXAMPLE) == LINE
    assert read(LINE) == EXAMPLE
    assert (
        typed_request("bac-901", ReportIrregularity(kind=IrregularityKind.FOREIGN_CARD, at=3), "ann", "dealer", "7f3a")
        == EXAMPLE
    )


ROLES: Final = ", ".join(role.value for role in Role)


@pytest.mark.parametrize("role", ["king", "", "Dealer", "null"])
def test_a_wrong_role_is_named_with_its_remedy(role: str) -> None:
    """The message uses the words of the command line, not those of JSON."""
    with pytest.raises(UsageError) as error:
        typed_request("bac-901", OpenBets(), "ann", role, "7")
    assert str(error.value) == f'--role: "{role}" is not a role; give one of {ROLES}, or player'


@pytest.mark.parametrize("role", [None, "player"])
def test_a_command_of_the_house_needs_a_role_of_the_house(role: str | None) -> None:
    """A player can give the command `decide` only. The error is raised before a request is sent."""
    for word, command in (
        ("open-bets", OpenBets()),
        ("notice", ReportIrregularity(kind=IrregularityKind.OTHER)),
        ("void", VoidRound()),
    ):
        with pytest.raises(UsageError) as error:
            typed_request("bac-901", command, "ann", role, "7")
        assert str(error.value) == f"{word}: a player cannot give this command; give --role, one of {ROLES}"
    decide = Decide(question="1", choice="continue")
    assert typed_request("bac-901", decide, "ann", role, "7").input.author == Author("ann", None)


def test_the_author_without_a_role_is_a_player() -> None:
    """The role is absent, null, or `player`."""
    wanted = Request("bac-901", Commanded(OpenBets(), Author("ann", None), "7"))
    assert read(lined()) == wanted
    assert read(lined(role="player")) == wanted
    without = msgspec.json.decode(lined())
    del without["role"]
    assert read(msgspec.json.encode(without)) == wanted


def test_null_is_the_same_as_an_absent_key_if_the_default_is_none() -> None:
    """A key with another default refuses null."""
    assert command_of("void", {"round": None}) == VoidRound()
    with pytest.raises(UsageError, match="notice: count: null is not valid"):
        command_of("notice", {"kind": "other", "count": None})


@pytest.mark.parametrize(
    "command", [VoidRound(round=10_000), Decide(question="", choice=("8S",) * 9), ReportLate(act="a\nb" * 100)]
)
def test_a_recorded_command_outside_the_bounds_is_readable(command: AnyCommand) -> None:
    """The bounds apply to new requests only: a journal stays readable if a bound changes."""
    recorded = msgspec.json.encode(command)
    values = msgspec.json.decode(recorded)
    word = values.pop("command")
    with pytest.raises(UsageError):
        command_of(word, values)
    assert msgspec.json.decode(recorded, type=AnyCommand) == command


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"", "the line is not JSON: "),
        (b"{", "the line is not JSON: "),
        (b"open-bets\n", "the line is not JSON: "),
        (b'"\xff"', "the line is not JSON: "),
        (b"[" * 4000, "the line is not JSON: "),
        (b"[]", "a list is not a request; send one JSON object on one line"),
        (b"null", "null is not a request; send one JSON object on one line"),
        (b"{}", "table is missing; give text"),
        (lined(tabel="t"), '"tabel" is not a key; did you mean table?'),
        (lined(table=7), "table: 7 is not valid; give text"),
        (lined(author=""), 'author: "" is not valid; give text'),
        (lined(author="a\nb"), 'author: "a\\nb" is not valid; give text'),
        (lined(author="a" * 201), "author: "),
        (lined(role="king"), 'role: "king" is not valid; give one of dealer, pit-supervisor, '),
        (
            lined(command="open-bets"),
            'command: "open-bets" is not valid; give an object, such as {"command": ',
        ),
        (lined(command={}), "command: the name of the command is missing, or is not text; give an object"),
        (lined(command={"command": 7}), "command: the name of the command is missing, or is not text; give an object"),
        (lined(command={"command": "opn-bets"}), '"opn-bets" is not a command; did you mean open-bets?'),
        (lined(command={"command": "foreign-card"}), '"foreign-card" is not a command; '),
        (lined(command={"command": "void", "round": "7"}), 'void: round: "7" is not valid; give a whole number'),
        (lined(command={"command": "void", "round": True}), "void: round: true is not valid; give a whole number"),
        (lined(command={"command": "void", "round": 7.5}), "void: round: 7.5 is not valid; give a whole number"),
        (lined(command={"command": "late", "act": ["bet"]}), "late: act: a list is not valid; give text"),
    ],
)
def test_an_invalid_line_is_refused_with_a_message(line: bytes, message: str) -> None:
    """No line raises an exception."""
    assert refused(line).detail.startswith(message)


def test_a_refusal_has_the_id_of_the_line_if_the_id_is_readable() -> None:
    """The sender recognises the refused request by the id."""
    assert refused(lined(role="king")).id == "7"
    assert refused(lined(id=7)).id == ""
    assert refused(b"{").id == ""


@pytest.mark.parametrize("seed", range(20))
def test_every_damaged_line_gives_a_request_or_a_refusal_that_can_be_recorded(seed: int) -> None:
    """Bytes of valid lines are changed, removed and inserted. The result can be encoded as JSON."""
    dice = Random(seed)
    passed = 0
    for _ in range(200):
        command = msgspec.to_builtins(typed_command(dice.choice(NOTICES), ["at=3", "order=8S,10H"]))
        line = bytearray(lined(command=command, author="\u674e\u56db", id="\\ud83d"))
        for _ in range(dice.randrange(4)):
            at = dice.randrange(len(line))
            line[at : at + dice.randrange(3)] = dice.choice(
                (b"", b'"', b"\\ud800", b"\\n", b"9" * 30, dice.randbytes(2))
            )
        result = read(bytes(line))
        passed += isinstance(result, Request)
        assert msgspec.json.encode(result)
    assert 20 < passed < 180


def test_every_kind_of_notice_is_a_command_word() -> None:
    """No kind has the name of a command."""
    assert {typed_command(word, []) for word in NOTICES} == {
        ReportIrregularity(kind=event) for event in IrregularityKind if event not in FOLLOWS
    }
    assert not set(NOTICES) & set(COMMANDS)


def test_every_role_is_accepted() -> None:
    """The rule books have the same names."""
    for role in Role:
        request = read(lined(role=role.value))
        assert isinstance(request, Request)
        assert request.input.author == Author("ann", role)


@pytest.mark.parametrize(
    ("wanted", "line"),
    [
        (CaptureRequest("bac-901", "7f3a", "shoe"), b'{"table":"bac-901","id":"7f3a","capture":"shoe"}\n'),
        (StatusRequest("7f3a", "bac-901"), b'{"id":"7f3a","status":"bac-901"}\n'),
        (StatusRequest("7f3a", None), b'{"id":"7f3a","status":null}\n'),
    ],
)
def test_a_query_is_one_line(wanted: CaptureRequest | StatusRequest, line: bytes) -> None:
    """Its key `capture` or `status` distinguishes the line from a command."""
    assert json_line(wanted) == line
    assert read(line) == wanted


def test_a_request_for_a_restart_is_one_line() -> None:
    """The key `restart` names the moment, and distinguishes the line from a command."""
    wanted = RestartRequest("7f3a")
    assert json_line(wanted) == b'{"id":"7f3a","restart":"between-rounds"}\n'
    assert read(json_line(wanted)) == wanted
    now = b'{"id":"7f3a","restart":"now"}'
    assert refused(now) == Answer(
        "7f3a", accepted=False, detail='restart: "now" is not valid; give one of between-rounds'
    )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"table":"bac-901","capture":"shoe"}', "id is missing; give text"),
        (b'{"table":"bac-901","id":"7","capture":9}', "capture: 9 is not valid; give the name of a device"),
        (
            b'{"table":"bac-901","id":"7","capture":"shoe","author":"ann"}',
            '"author" is not a key; give one of table',
        ),
        (b'{"id":"7","status":9}', "status: 9 is not valid; give the name of a table, or null for all tables"),
        (b'{"status":null}', "id is missing; give text"),
    ],
)
def test_an_invalid_query_is_refused(line: bytes, message: str) -> None:
    """The message states a valid value."""
    assert message in refused(line).detail


@pytest.mark.parametrize(
    ("command", "deed"),
    [
        (OpenBets(), "bets are open"),
        (Decide(question="2", choice=("8S", "10H"), revision=3), "question 2 answered: 8S,10H"),
        (CorrectCard(index=4, card=Card.H6), "card 4 is corrected: 6H"),
        (
            ReportIrregularity(kind=IrregularityKind.ORDER_ALTERED, at=2, order=(Card.S8,), of_the_dealing=False),
            "noticed: order-altered, at 2, order 8S, of_the_dealing no",
        ),
        (
            ReportIrregularity(kind=IrregularityKind.DRAWN_TOGETHER, order_known=True),
            "noticed: drawn-together, order_known yes",
        ),
    ],
)
def test_the_effect_of_a_command_is_stated_with_its_other_keys(command: AnyCommand, deed: str) -> None:
    """A key with its default value is not stated."""
    assert command.deed == deed


def test_an_unknown_table_is_reported_with_the_known_tables() -> None:
    """All commands have the same message."""
    assert str(NoSuchTable("bac-999", ("bac-901", "bac-902"))) == "bac-999: no such table; known: bac-901, bac-902"
