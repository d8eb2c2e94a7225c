"""What people type or send becomes a command, or a sentence that says what would be right."""

from random import Random
from typing import Final

import msgspec
import pytest

from shoed.cards import Card
from shoed.commands import (
    Answer,
    AnyCommand,
    Author,
    CloseBets,
    CorrectCard,
    Decide,
    Notice,
    OpenBets,
    ReportLate,
    VoidRound,
)
from shoed.errors import UsageError
from shoed.step import Told
from shoed.telling import (
    COMMANDS,
    EXAMPLE,
    NOTICES,
    Request,
    Save,
    command_of,
    line_of,
    line_of_save,
    read,
    request,
    typed,
)
from shoed.words import FOLLOWS, Event, Role, Stage

LINE: Final = (
    b'{"table":"bac-901","id":"7f3a","author":"ann","role":"dealer",'
    b'"command":{"command":"notice","kind":"foreign-card","at":3}}\n'
)


def lined(**fields: object) -> bytes:
    """A good request, with some of its fields exchanged."""
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
        ("notice kind=other", Notice(kind=Event.OTHER)),
        ("foreign-card at=3", Notice(kind=Event.FOREIGN_CARD, at=3)),
        ("interruption of_the_dealing=no", Notice(kind=Event.INTERRUPTION, of_the_dealing=False)),
        ("drawn-together count=3 order_known=yes", Notice(kind=Event.DRAWN_TOGETHER, count=3, order_known=True)),
        ("drawn-together order=8S,th", Notice(kind=Event.DRAWN_TOGETHER, order=(Card.S8, Card.H10))),
        ("insurance-neglected stage=after-four", Notice(kind=Event.INSURANCE_NEGLECTED, stage=Stage.AFTER_FOUR)),
        ("late act=bet", ReportLate(act="bet")),
        ("decide question=12 choice=void", Decide(question="12", choice="void")),
        ("decide question=12 choice=8S,10H bettor=b", Decide(question="12", choice=("8S", "10H"), bettor="b")),
        ("correct index=2 card=10h", CorrectCard(index=2, card=Card.H10)),
        ("void round=7", VoidRound(round=7)),
    ],
)
def test_words_become_a_command(words: str, command: AnyCommand) -> None:
    """KEY=VALUE by the key's type; a kind of trouble is a command by itself."""
    word, *pairs = words.split()
    assert typed(word, pairs) == command


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("opn-bets", '"opn-bets": no such command; did you mean open-bets?'),
        ("foregn-card", '"foregn-card": no such command; did you mean foreign-card?'),
        ("xyzzy", '"xyzzy": no such command; known: open-bets, close-bets, '),
        ("void rund=3", 'void: "rund": no such key; did you mean round?'),
        ("void 3", 'void: "3" is no KEY=VALUE; known: round'),
        ("open-bets at=3", 'open-bets: "at": no such key; it has none'),
        ("void round=x", 'void: round: "x" will not do; give a whole number from 1 to 9999'),
        ("void round=0", "void: round: 0 will not do; give a whole number from 1 to 9999"),
        ("void round=10000", "void: round: 10000 will not do; give"),
        ("void round=\u0663", 'void: round: "\u0663" will not do; give'),
        ("void round=1 round=2", "void: round is given twice; give it once"),
        ("foreign-card kind=other", "notice: kind is given twice; give it once"),
        ("foreign-card order_known=true", 'notice: order_known: "true" will not do; give yes or no'),
        ("correct index=1", "correct: card is missing; give a card, as 8S or 10H"),
        ("correct index=1 card=11H", 'correct: card: "11H" will not do; give a card, as 8S or 10H'),
        ("correct index=1 card=", 'correct: card: "" will not do; give a card, as 8S or 10H'),
        ("wrong-count order=8S,", 'notice: order: "" will not do; give at most 8 cards, as 8S,10H'),
        ("wrong-count order=8S,XX,YY", 'notice: order: "XX" will not do; give at most 8 cards, as 8S,10H'),
        ("wrong-count order=" + ",".join(["8S"] * 9), "notice: order: 9 are too many; give at most 8 cards"),
        ("decide question=1 choice=8S,", 'decide: choice: "" will not do; give a word, or at most 8 of them'),
        ("decide question= choice=void", 'decide: question: "" will not do; give text of 1 to 200 characters'),
        ("insurance-neglected stage=late", 'notice: stage: "late" will not do; give one of after-four, '),
    ],
)
def test_what_is_typed_wrongly_is_named(words: str, said: str) -> None:
    """Which word, and what would be right."""
    word, *pairs = words.split()
    with pytest.raises(UsageError) as error:
        typed(word, pairs)
    assert str(error.value).startswith(said)


def test_a_request_is_one_line() -> None:
    """The same bytes for the same request, and back."""
    assert line_of(EXAMPLE) == LINE
    assert read(LINE) == EXAMPLE
    assert request("bac-901", Notice(kind=Event.FOREIGN_CARD, at=3), "ann", "dealer", "7f3a") == EXAMPLE


ROLES: Final = ", ".join(role.value for role in Role)


@pytest.mark.parametrize("role", ["king", "", "Dealer", "null"])
def test_a_role_that_is_typed_wrongly_is_named(role: str) -> None:
    """In words of the command line, not in JSON."""
    with pytest.raises(UsageError) as error:
        request("bac-901", OpenBets(), "ann", role, "7")
    assert str(error.value) == f'--role: "{role}" is not a role; give one of {ROLES}, or player'


@pytest.mark.parametrize("role", [None, "player"])
def test_a_command_of_the_house_needs_a_role_of_the_house(role: str | None) -> None:
    """A player can only decide; this is said before anything is sent."""
    for word, command in (("open-bets", OpenBets()), ("notice", Notice(kind=Event.OTHER)), ("void", VoidRound())):
        with pytest.raises(UsageError) as error:
            request("bac-901", command, "ann", role, "7")
        assert str(error.value) == f"{word}: a player cannot give this command; give --role, one of {ROLES}"
    decide = Decide(question="1", choice="continue")
    assert request("bac-901", decide, "ann", role, "7").told.author == Author("ann", None)


def test_without_a_role_it_is_a_player() -> None:
    """Left out, null, or the word that a question has for it."""
    wanted = Request("bac-901", Told(OpenBets(), Author("ann", None), "7"))
    assert read(lined()) == wanted
    assert read(lined(role="player")) == wanted
    without = msgspec.json.decode(lined())
    del without["role"]
    assert read(msgspec.json.encode(without)) == wanted


def test_null_is_a_key_left_out_where_it_may_be() -> None:
    """But not one that has a value by itself."""
    assert command_of("void", {"round": None}) == VoidRound()
    with pytest.raises(UsageError, match="notice: count: null will not do"):
        command_of("notice", {"kind": "other", "count": None})


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"", "no JSON: "),
        (b"{", "no JSON: "),
        (b"open-bets\n", "no JSON: "),
        (b'"\xff"', "no JSON: "),
        (b"[" * 4000, "no JSON: "),
        (b"[]", "a list is no request; send one object on one line"),
        (b"null", "null is no request; send one object on one line"),
        (b"{}", "table is missing; give text"),
        (lined(tabel="t"), '"tabel": no such key; did you mean table?'),
        (lined(table=7), "table: 7 will not do; give text"),
        (lined(author=""), 'author: "" will not do; give text'),
        (lined(author="a\nb"), 'author: "a\\nb" will not do; give text'),
        (lined(author="a" * 201), "author: "),
        (lined(role="king"), 'role: "king" will not do; give one of dealer, pit-supervisor, '),
        (lined(command="open-bets"), 'command: "open-bets" will not do; give an object, as {"command": "open-bets"}'),
        (lined(command={}), "command: which one is missing; give an object"),
        (lined(command={"command": 7}), "command: which one is missing; give an object"),
        (lined(command={"command": "opn-bets"}), '"opn-bets": no such command; did you mean open-bets?'),
        (lined(command={"command": "foreign-card"}), '"foreign-card": no such command; '),
        (lined(command={"command": "void", "round": "7"}), 'void: round: "7" will not do; give a whole number'),
        (lined(command={"command": "void", "round": True}), "void: round: true will not do; give a whole number"),
        (lined(command={"command": "void", "round": 7.5}), "void: round: 7.5 will not do; give a whole number"),
        (lined(command={"command": "late", "act": ["bet"]}), "late: act: a list will not do; give text"),
    ],
)
def test_a_line_that_makes_no_sense_is_answered(line: bytes, said: str) -> None:
    """With a sentence; nothing is raised, whatever came."""
    assert refused(line).detail.startswith(said)


def test_a_refusal_bears_the_id_where_one_can_be_read() -> None:
    """So that its sender knows which of his requests it was."""
    assert refused(lined(role="king")).id == "7"
    assert refused(lined(id=7)).id == ""
    assert refused(b"{").id == ""


@pytest.mark.parametrize("seed", range(20))
def test_whatever_comes_is_answered_and_can_be_recorded(seed: int) -> None:
    """Good lines with bytes changed, lost and put in: a request or an answer, and either can be written as JSON."""
    dice = Random(seed)
    passed = 0
    for _ in range(200):
        command = msgspec.to_builtins(typed(dice.choice(NOTICES), ["at=3", "order=8S,10H"]))
        line = bytearray(lined(command=command, author="\u674e\u56db", id="\\ud83d"))
        for _ in range(dice.randrange(4)):
            at = dice.randrange(len(line))
            line[at : at + dice.randrange(3)] = dice.choice(
                (b"", b'"', b"\\ud800", b"\\n", b"9" * 30, dice.randbytes(2))
            )
        said = read(bytes(line))
        passed += isinstance(said, Request)
        assert msgspec.json.encode(said)
    assert 20 < passed < 180


def test_every_kind_of_trouble_is_a_word() -> None:
    """And none of them hides a command."""
    assert {typed(word, []) for word in NOTICES} == {Notice(kind=event) for event in Event if event not in FOLLOWS}
    assert not set(NOTICES) & set(COMMANDS)


def test_every_role_is_understood() -> None:
    """As the rule books name them."""
    for role in Role:
        told = read(lined(role=role.value))
        assert isinstance(told, Request)
        assert told.told.author == Author("ann", role)


def test_a_capture_is_asked_for_on_the_same_line() -> None:
    """By a key that no command has, and no others than its own."""
    wanted = Save("bac-901", "7f3a", "shoe")
    assert line_of_save(wanted) == b'{"table":"bac-901","id":"7f3a","capture":"shoe"}\n'
    assert read(line_of_save(wanted)) == wanted


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b'{"table":"bac-901","capture":"shoe"}', "id is missing; give text"),
        (b'{"table":"bac-901","id":"7","capture":9}', "capture: 9 will not do; give the device"),
        (
            b'{"table":"bac-901","id":"7","capture":"shoe","author":"ann"}',
            '"author": no such key; known: table',
        ),
    ],
)
def test_a_capture_that_is_asked_for_wrongly_is_refused(line: bytes, said: str) -> None:
    """With what would be right."""
    assert said in refused(line).detail
