"""The host's session with an Open Shoe: what each message says, whose device it is, and what is asked for."""

from typing import Final

import pytest

from firmware_protocols.family import Reason
from firmware_protocols.open_shoe import OpenShoeSettings, build, orders
from firmware_protocols.open_shoe import messages as theirs
from firmware_protocols.open_shoe.layout import FACES
from firmware_protocols.open_shoe.messages import (
    Acknowledge,
    Alive,
    CardOrder,
    Delivered,
    Done,
    FaultChanged,
    Hello,
    Identify,
    Inventory,
    Notice,
    Order,
    Passage,
    Report,
    Reported,
    Request,
    Requested,
    Resend,
    Result,
    Role,
)
from shoed import wire
from shoed.cards import Card
from shoed.now import Chunk
from shoed.observations import (
    AnyObservation,
    CardSeen,
    Continuity,
    CopyHeard,
    CutCardSeen,
    DeviceDoubt,
    DeviceDoubted,
    Edges,
    Evidence,
    FaultCleared,
    FaultMeaning,
    FaultRaised,
    FrameRejected,
    Identified,
    LinkClosed,
    LinkOpened,
    LockChanged,
    OrderAnswered,
    Place,
    Resumed,
    SequenceJumped,
    SetDelivered,
    SetRecognised,
    ShoeEmptied,
    ShoeLoaded,
    ShuffleEnded,
    ShuffleStarted,
    WentQuiet,
)
from shoed.observations import Reported as Observed
from shoed.session.open_shoe import LISTENS, SETS
from shoed.session.open_shoe_stream import REPEATABLE, Intake
from shoed.session.open_shoe_words import SET_CARDS
from shoed.step import DeviceOrder, DeviceOrderKind, LinkDown, LinkUp, Ordered, Received, Woken
from shoed.wire import Frame, LineState
from tests.open_shoe_line import LISTENING, PORT, START, A, Clock, Host, numbered

B: Final = 0xB
CLOCK_US: Final = 3_000_000
EIGHT: Final = theirs.Face(theirs.Suit.SPADES, 8)
IDENTIFY: Final = bytes.fromhex("7E 01 80 00 00 78 CD A3 F9 7F")
HELLO: Final = bytes.fromhex(
    "7E 01 01 00 00 A1 B2 C3 D4 01 00 01 00 01 04 41 63 6D 65 02 53 31 04 30 30 34 32 03 31 2E 30 3D 77 C2 F1 7F"
)
SECOND: Final = bytes.fromhex(  # the eight of spades, Player's first
    "7E 01 20 00 02 A1 B2 C3 D4 00 00 00 00 00 1E 84 80 18 01 01 00 01 E8 48 00 E6 9C D6 17 7F"
)
ACK_2: Final = bytes.fromhex("7E 01 81 00 00 A1 B2 C3 D4 00 02 C5 57 33 53 7F")


def report(sequence: int, said: Reported, *, of: int = A, version: int = 1, clock_us: int = CLOCK_US) -> bytes:
    return build(Report(version, sequence, of, clock_us, said))


def hello(*, of: int = A, upcoming: int = 1, oldest: int = 1, role: Role = Role.SHOE, version: int = 1) -> bytes:
    return build(Notice(version, Hello(of, role, upcoming, oldest, "Acme", "S1", "0042", "1.0")))


def asked(data: bytes) -> list[Requested]:
    """What the host says, read as the device reads it."""
    _, found = wire.receive(orders(OpenShoeSettings()), LineState(), Chunk(data, START))
    return [each.message.said for each in found if isinstance(each, Frame)]


def greeted(*, role: str = "shoe", due: int = 1, allow_orders: bool = False) -> Host:
    """A host that knows stream A, has it up to `due`, and was greeted."""
    host = Host(Clock(), role=role, allow_orders=allow_orders, intake=Intake(A, due))
    host.take(LinkUp(PORT))
    host.hear(hello(upcoming=due, oldest=due, role=Role(role)))
    host.seen.clear()
    return host


def listener(intake: Intake | None = None, *, role: str = "shoe") -> Host:
    host = Host(Clock(), LISTENING, role=role, allow_orders=True, intake=intake)
    assert host.take(LinkUp(PORT)) == b""
    host.seen.clear()
    return host


def evidence(raw: bytes, sequence: str, offset: int = 0) -> Evidence:
    return Evidence(raw.hex(" "), offset, sequence)


def observed(said: Reported, *, role: str = "shoe", version: int = 1) -> AnyObservation:
    """The one observation of a report, without where it came from."""
    host = greeted(role=role)
    raw = report(1, said, version=version)
    (seen,) = host.hears(raw)
    assert isinstance(seen, Observed)
    assert (seen.frame.raw, seen.frame.sequence, seen.at) == (raw.hex(" "), "1", host.clock.now)
    return seen


def told(expected: AnyObservation, seen: AnyObservation) -> bool:
    """Whether they are the same but for when and where."""
    names = set(expected.__struct_fields__) - {"at", "frame"}
    return type(expected) is type(seen) and all(getattr(expected, name) == getattr(seen, name) for name in names)


def kinds(host: Host, *said: bytes) -> list[str]:
    return [type(each).__name__ for raw in said for each in host.hears(raw)]


NOW: Final = Clock().now
NONE: Final = Evidence("", 0, "")


# --- what each report says


@pytest.mark.parametrize(
    ("place", "ours", "position"),
    [
        (theirs.Place.DEALT, Place.DEALT, 0),
        (theirs.Place.PLAYER, Place.PLAYER, 1),
        (theirs.Place.BANKER, Place.BANKER, 3),
        (theirs.Place.BURNT, Place.BURN, 7),
        (theirs.Place.LOCKED, Place.LOCKED, 0),
        (theirs.Place.ERROR, Place.ERROR, 0),
    ],
)
def test_a_card_has_its_place_and_its_edges(place: theirs.Place, ours: Place, position: int) -> None:
    """The report's clock is the leading edge."""
    edges = Edges(CLOCK_US, CLOCK_US + 125_000)
    expected = CardSeen(at=NOW, frame=NONE, place=ours, position=position, card=Card.S8, edges=edges)
    assert told(expected, observed(theirs.Card(EIGHT, place, position, 125_000)))


@pytest.mark.parametrize("face", FACES, ids=str)
def test_every_card_is_the_one_that_it_is(face: theirs.Face) -> None:
    """By its rank and its suit."""
    seen = observed(theirs.Card(face, theirs.Place.DEALT, 0, 0))
    assert isinstance(seen, CardSeen)
    assert seen.card is not None
    assert (seen.card.rank.value, seen.card.suit.name) == (face.rank, face.suit.name)


@pytest.mark.parametrize(
    ("face", "odd", "code", "card", "text", "double"),
    [
        (EIGHT, Passage.CLEAN, 0, Card.S8, "", False),
        (EIGHT, Passage.DOUBLE, 0, Card.S8, "", True),
        (None, Passage.CLEAN, 0, None, "", False),
        (None, Passage.CLEAN, 0xBEEF, None, "beef", False),
        (None, Passage.FOREIGN, 0x0B, None, "foreign 000b", False),
        (EIGHT, Passage.FOREIGN | Passage.DOUBLE, 0, None, "foreign 8S", True),
        (EIGHT, Passage.FOREIGN, 0xBEEF, None, "foreign 8S beef", False),
    ],
)
def test_a_foreign_card_has_no_face_for_us(  # noqa: PLR0913, PLR0917 -- the columns of the table
    face: theirs.Face | None,
    odd: Passage,
    code: int,
    card: Card | None,
    text: str,
    double: bool,  # noqa: FBT001
) -> None:
    """Which card it stands for, a person says; what is known of it is its code."""
    seen = observed(theirs.Card(face, theirs.Place.DEALT, 0, 9, odd, 97, code), version=2)
    assert isinstance(seen, CardSeen)
    assert seen.edges is not None
    assert (seen.card, seen.code, seen.edges.double, seen.quality) == (card, text, double, 97)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (theirs.CuttingCard(), CutCardSeen(at=NOW, frame=NONE)),
        (theirs.Loaded("No7"), ShoeLoaded(at=NOW, frame=NONE, set_id="No7")),
        (theirs.Empty(), ShoeEmptied(at=NOW, frame=NONE)),
        (theirs.Lock(locked=True), LockChanged(at=NOW, frame=NONE, locked=True)),
        (theirs.Lock(locked=False), LockChanged(at=NOW, frame=NONE, locked=False)),
        (FaultChanged(2, raised=False, blocking=True), FaultCleared(at=NOW, frame=NONE, code=2, name="jam")),
        (FaultChanged(99, raised=False, blocking=True), FaultCleared(at=NOW, frame=NONE, code=99, name="unnamed")),
        *(
            (
                FaultChanged(code, raised=True, blocking=code % 2 == 0),
                FaultRaised(at=NOW, frame=NONE, code=code, name=name, blocking=code % 2 == 0, meaning=meaning),
            )
            for code, name, meaning in (
                (1, "unreadable", None),  # the card itself is told, too
                (2, "jam", None),
                (3, "reverse-run", FaultMeaning.REVERSED),
                (4, "lid-open", None),
                (5, "door-open", None),
                (6, "sensor", None),
                (7, "overdraw", FaultMeaning.OVERDRAW),
                (8, "memory-full", None),
                (99, "unnamed", None),
            )
        ),
    ],
)
def test_what_a_shoe_says_beside_its_cards(said: Reported, expected: AnyObservation) -> None:
    """One observation for each report."""
    assert told(expected, observed(said))


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (theirs.Recognised("A7"), SetRecognised(at=NOW, frame=NONE, set_id="A7")),
        (theirs.Shuffling(), ShuffleStarted(at=NOW, frame=NONE)),
        (theirs.Shuffled(), ShuffleEnded(at=NOW, frame=NONE)),
        (theirs.Failed(1), ShuffleEnded(at=NOW, frame=NONE, failed="wrong-count")),
        (theirs.Failed(99), ShuffleEnded(at=NOW, frame=NONE, failed="reason 99")),
        (FaultChanged(5, raised=False, blocking=True), FaultCleared(at=NOW, frame=NONE, code=5, name="door-open")),
    ],
)
def test_what_a_shuffler_says_beside_its_sets(said: Reported, expected: AnyObservation) -> None:
    """A reason that the page does not name is a failure all the same."""
    assert told(expected, observed(said, role="shuffler"))


# --- sets


COUNTS: Final = (7, 8, 9, *[8] * 49)
HELD: Final = dict.fromkeys(Card, 8) | {Card.SA: 7, Card.S3: 9}
ORDER: Final = tuple(FACES[number % 52] for number in range(416))


def shuffled(*said: Reported) -> list[SetDelivered]:
    host = greeted(role="shuffler")
    for sequence, each in enumerate(said, start=1):
        host.hear(report(sequence, each, version=2))
    return [each for each in host.seen if isinstance(each, SetDelivered)]


def parts(set_id: str, order: tuple[theirs.Face | None, ...], length: int = 120) -> list[CardOrder]:
    return [CardOrder(set_id, at + 1, order[at : at + length]) for at in range(0, len(order), length)]


def test_a_set_is_delivered_as_it_was_counted() -> None:
    """Its counts by card, what was not read, and its id; none of a face is no row."""
    (seen,) = shuffled(Inventory("A7", (0, *COUNTS[1:]), 3), Delivered("A7"))
    assert (seen.set_id, seen.unread, seen.order) == ("A7", 3, ())
    assert seen.counts == {card: count for card, count in HELD.items() if card is not Card.SA}


def test_the_order_of_a_set_is_put_together_from_its_parts() -> None:
    """The first card to be dealt before the others, also where the inventory comes after it."""
    (seen,) = shuffled(*parts("A7", ORDER), Inventory("A7", (8,) * 52, 0), Delivered("A7"))
    assert [card.value for card in seen.order[:14]] == [card.value for card in [*Card][:14]]
    assert len(seen.order) == 416


@pytest.mark.parametrize(
    "said",
    [
        pytest.param([parts("A7", ORDER)[0], *parts("A7", ORDER)[2:]], id="a part was lost"),
        pytest.param(parts("A7", ORDER)[:3], id="the last part was lost"),
        pytest.param(parts("A7", ORDER)[1:], id="the first part was lost"),
        pytest.param(parts("A7", (*ORDER[:415], None)), id="a card was not read"),
        pytest.param(parts("B2", ORDER), id="of another set"),
        pytest.param(parts("A7", ORDER * 3), id="more cards than any shoe holds"),
    ],
)
def test_an_order_that_is_not_whole_is_none(said: list[CardOrder]) -> None:
    """One place wrong, and every card after it would be called altered."""
    (seen,) = shuffled(*said, Inventory("A7", (8,) * 52, 0), Delivered("A7"))
    assert (seen.order, sum(seen.counts.values())) == ((), 416)


def test_an_order_may_be_told_anew() -> None:
    """From the first place on, and it is the later one that counts."""
    (seen,) = shuffled(*parts("A7", ORDER)[:2], *parts("A7", ORDER[::-1]), Delivered("A7"))
    assert (len(seen.order), seen.order[0]) == (416, Card.CK)


def test_two_sets_at_once_are_not_mixed_up() -> None:
    """One is counted while the other lies ready; each is delivered once, and the second time nothing is known."""
    first, second, third = shuffled(
        Inventory("A", COUNTS, 0), Inventory("B", (8,) * 52, 1), Delivered("A"), Delivered("B"), Delivered("A")
    )
    assert (first.set_id, first.counts, second.set_id, second.unread) == ("A", HELD, "B", 1)
    assert (third.set_id, third.counts, third.order) == ("A", {}, ())


def test_what_is_never_delivered_does_not_grow_the_state() -> None:
    """The last few sets are kept, and so many cards of each."""
    host = greeted(role="shuffler")
    for number in range(3 * SETS):
        host.hear(report(2 * number + 1, Inventory(str(number), COUNTS, 0)))
        host.hear(report(2 * number + 2, CardOrder(str(number), 1, ORDER[:200]), version=2))
    assert [*host.state.sets] == [str(number) for number in range(2 * SETS, 3 * SETS)]
    for number in range(12):
        host.hear(report(6 * SETS + 1 + number, CardOrder("11", 200 * number + 1, ORDER[:200]), version=2))
    assert len(host.state.sets["11"].order) <= SET_CARDS


def test_a_set_of_another_stream_is_forgotten() -> None:
    """Where reports were lost, its inventory may be another one's."""
    host = greeted(role="shuffler")
    host.hear(report(1, Inventory("A", COUNTS, 0)))
    host.hear(hello(of=B, role=Role.SHUFFLER))
    host.hear(report(1, Delivered("A"), of=B))
    assert [each.counts for each in host.seen if isinstance(each, SetDelivered)] == [{}]


# --- who it is, and what its HELLO proves


def test_a_device_says_who_it_is_once() -> None:
    """The page's own bytes. The first one that is ever heard was never away; HELLO again says nothing new."""
    host = Host(Clock())
    assert host.take(LinkUp(PORT)) == IDENTIFY
    (who,) = host.hears(HELLO)
    assert who == Identified(
        at=host.clock.now,
        frame=evidence(HELLO, ""),
        vendor="Acme",
        model="S1",
        serial="0042",
        firmware="1.0",
        protocol="1",
    )
    assert host.hears(HELLO) == []
    assert host.hear(report(1, theirs.Empty(), clock_us=1_000_000)) == build(Request(1, Acknowledge(A, 1)))
    assert host.hear(SECOND) == ACK_2


def test_after_a_link_that_was_away_hello_is_the_first_word() -> None:
    """Before it nothing is taken, because nobody knows whose reports they are."""
    host = greeted()
    host.hear(report(1, theirs.Empty()))
    host.take(LinkDown("pulled"))
    host.take(LinkUp(PORT))
    assert host.hears(report(2, theirs.Empty())) == []
    resumed, who = host.hears(hello(upcoming=3, oldest=2))
    assert isinstance(resumed, Resumed)
    assert isinstance(who, Identified)
    assert resumed.proven
    (seen,) = host.hears(report(2, theirs.Empty()))
    assert isinstance(seen, ShoeEmptied)


def test_another_stream_proves_nothing() -> None:
    """Also on a line that stays open: the device lost its power, perhaps."""
    host = greeted(due=7)
    assert asked(host.hear(report(1, theirs.Empty(), of=B))) == [Identify()]
    resumed, who = host.hears(hello(of=B, upcoming=2, oldest=1))
    assert isinstance(resumed, Resumed)
    assert isinstance(who, Identified)
    assert (resumed.continuity, resumed.missed_at_least) == (Continuity.UNKNOWN, 0)
    assert [type(each) for each in host.hears(report(1, theirs.Empty(), of=B))] == [ShoeEmptied]


@pytest.mark.parametrize("due", [7, 65535])
def test_a_device_that_dropped_what_was_due_says_how_many_reports_are_lost(due: int) -> None:
    """Within one stream the numbers count, across their end, too."""
    host = greeted(due=due)
    host.take(LinkDown("pulled"))
    host.take(LinkUp(PORT))
    oldest = (due + 2) % 65535 + 1
    resumed, _ = host.hears(hello(upcoming=oldest, oldest=oldest))
    assert isinstance(resumed, Resumed)
    assert (resumed.continuity, resumed.missed_at_least) == (Continuity.LOST, 3)
    assert (resumed.expected, resumed.frame.sequence) == (str(due), str(oldest))


@pytest.mark.parametrize("away_s", [0, 1_000_000])
def test_long_numbers_prove_alone(away_s: int) -> None:
    """However long the absence was; a listener has the same proof by the next report."""
    for host in (greeted(due=7), listener(Intake(A, 7))):
        host.take(LinkDown("pulled"))
        host.clock.ms += away_s * 1000
        host.take(LinkUp(PORT))
        resumed, *_ = host.hears(hello(upcoming=8, oldest=7) + report(7, theirs.Empty()))[host.session.listens :]
        assert isinstance(resumed, Resumed)
        assert (resumed.continuity, resumed.missed_at_least, resumed.expected) == (Continuity.PROVEN, 0, "")


# --- numbers that begin again under the same stream


LATER_US: Final = CLOCK_US + 1_000_000
FAULT: Final = FaultChanged(2, raised=True, blocking=True)
CLEAR: Final = FaultChanged(2, raised=False, blocking=False)


def taken(reports: int, *, role: str = "shoe", version: int = 1) -> Host:
    """A host that took so many reports, and acknowledged them."""
    host = greeted(role=role)
    host.hear(b"".join(report(number, FAULT, version=version) for number in range(1, reports + 1)))
    host.seen.clear()
    return host


def away(host: Host) -> Host:
    host.take(LinkDown("pulled"))
    host.take(LinkUp(PORT))
    host.seen.clear()
    return host


def resumed(seen: AnyObservation, expected: str, sequence: str) -> bool:
    """Whether it says that nothing is proven, between these numbers."""
    return (
        isinstance(seen, Resumed)
        and (seen.continuity, seen.missed_at_least) == (Continuity.UNKNOWN, 0)
        and (seen.expected, seen.frame.sequence) == (expected, sequence)
    )


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("role", ["shoe", "shuffler"])
def test_other_bytes_under_a_number_that_was_taken_are_no_copy(role: str, version: int) -> None:
    """The device is asked whose numbers these are; then all that it keeps is taken, after a gap on record."""
    host = taken(3, role=role, version=version)
    again = report(1, CLEAR, version=version, clock_us=LATER_US)
    assert asked(host.hear(again)) == [Identify()]
    assert asked(host.hear(again)) == []
    assert host.seen == []
    raw = hello(upcoming=2, oldest=1, role=Role(role), version=version)
    assert asked(host.hear(raw)) == [Resend(A, 1)]
    gap, who = host.seen
    assert resumed(gap, "4", "1")
    assert isinstance(who, Identified)
    assert asked(host.hear(again)) == [Acknowledge(A, 1)]
    assert isinstance(host.seen[-1], FaultCleared)
    assert asked(host.hear(again)) == [Acknowledge(A, 1)]
    assert isinstance(host.seen[-1], CopyHeard)


def test_a_copy_is_acknowledged_by_its_own_number() -> None:
    """An acknowledgement of the last report taken would make a device that began again forget what is not here."""
    host = taken(3)
    assert asked(host.hear(report(2, FAULT))) == [Acknowledge(A, 2)]
    assert kinds(host, report(3, FAULT)) == ["CopyHeard"]


def test_what_was_taken_and_is_still_kept_is_compared_before_anything_is_taken() -> None:
    """The number due proves nothing: here it is among the reports of the new numbering."""
    host = away(taken(3))
    assert asked(host.hear(hello(upcoming=6, oldest=2))) == [Resend(A, 2)]
    assert [type(each) for each in host.seen] == [Identified]
    assert asked(host.hear(report(4, CLEAR))) == []
    assert asked(host.hear(report(2, FAULT))) == [Acknowledge(A, 2)]
    assert asked(host.hear(report(3, CLEAR))) == [Acknowledge(A, 3)]
    _, copy, gap, cleared = host.seen
    assert isinstance(copy, CopyHeard)
    assert resumed(gap, "4", "3")
    assert isinstance(cleared, FaultCleared)
    assert kinds(host, report(4, CLEAR)) == ["FaultCleared"]


@pytest.mark.parametrize("repeated", [False, True])
def test_continuity_is_proven_once_all_that_is_kept_was_compared(repeated: bool) -> None:  # noqa: FBT001 -- a column
    """By the last copy, or by a HELLO that says that the device forgot them meanwhile."""
    host = away(taken(3))
    assert kinds(host, hello(upcoming=4, oldest=2), report(2, FAULT)) == ["Identified", "CopyHeard"]
    last = hello(upcoming=4, oldest=4) if repeated else report(3, FAULT)
    (proof,) = [each for each in host.hears(last) if isinstance(each, Resumed)]
    assert proof.proven
    assert kinds(host, report(4, CLEAR)) == ["FaultCleared"]


def test_a_hello_that_goes_back_begins_a_new_numbering() -> None:
    """On a line that just opened; what does not exist yet by its `next` is new, whatever its bytes are."""
    host = away(taken(3))
    assert asked(host.hear(hello(upcoming=2, oldest=2))) == []
    gap, who = host.seen
    assert resumed(gap, "4", "2")
    assert isinstance(who, Identified)
    assert kinds(host, report(2, FAULT), report(3, FAULT)) == ["FaultRaised", "FaultRaised"]


@pytest.mark.parametrize("oldest", [1, 2])
def test_a_hello_that_goes_back_may_name_reports_that_were_taken(oldest: int) -> None:
    """These are compared, too; the gap is on record once."""
    host = away(taken(5))
    host.hear(hello(upcoming=4, oldest=oldest))
    same = [report(number, FAULT) for number in range(oldest, 3)]
    assert kinds(host, *same) == ["CopyHeard"] * len(same)
    assert kinds(host, report(3, CLEAR), report(4, FAULT)) == ["FaultCleared", "FaultRaised"]


def test_a_hello_that_goes_back_on_an_open_line_is_asked_for_again() -> None:
    """Nothing is taken before the second one, which counts."""
    host = taken(3)
    assert asked(host.hear(hello(upcoming=1, oldest=1))) == [Identify()]
    assert (host.hear(report(1, CLEAR)), host.seen) == (b"", [])
    assert kinds(host, hello(upcoming=2, oldest=1)) == ["Resumed", "Identified"]
    assert kinds(host, report(1, CLEAR)) == ["FaultCleared"]


def test_an_idle_device_betrays_that_its_numbers_began_again() -> None:
    """Its ALIVE names a number that was taken."""
    host = taken(3)
    assert asked(host.hear(build(Notice(1, Alive(A, 2))))) == [Identify()]
    assert kinds(host, hello(upcoming=2, oldest=2)) == ["Resumed", "Identified"]


def test_a_clock_that_goes_back_makes_the_host_ask_whose_numbers_these_are() -> None:
    """The number is due by chance, perhaps: HELLO says what else the device keeps."""
    for number in (4, 5):
        host = taken(3)
        early = report(number, CLEAR, clock_us=CLOCK_US - 1)
        assert asked(host.hear(early)) == [Identify()]
        assert asked(host.hear(hello(upcoming=number + 1, oldest=1))) == [Resend(A, 1)]
        assert kinds(host, report(1, CLEAR, clock_us=7)) == ["Resumed", "FaultCleared"]


def test_a_report_that_no_window_can_repeat_is_no_copy() -> None:
    """Its CRC is not kept any more: HELLO says that its number is to come again."""
    host = away(taken(100))
    host.hear(hello(upcoming=150, oldest=1))
    assert kinds(host, report(1, FAULT), report(2, FAULT)) == ["Resumed", "FaultRaised", "FaultRaised"]
    assert len(taken(100).state.intake.checks) == REPEATABLE


def test_a_report_that_contradicts_the_hello_is_taken_after_a_gap() -> None:
    """HELLO was asked for and does not keep it: nothing else would ever bring it in."""
    host = taken(3)
    assert asked(host.hear(report(2, CLEAR))) == [Identify()]
    assert kinds(host, hello(upcoming=4, oldest=4)) == ["Identified"]
    assert asked(host.hear(report(2, CLEAR))) == [Acknowledge(A, 2)]
    gap, cleared = host.seen[-2:]
    assert resumed(gap, "4", "2")
    assert isinstance(cleared, FaultCleared)


def test_a_set_of_an_earlier_numbering_is_forgotten() -> None:
    """As one of another stream."""
    host = greeted(role="shuffler")
    host.hear(report(1, Inventory("A", COUNTS, 0)))
    host = away(host)
    host.hear(hello(upcoming=2, oldest=1, role=Role.SHUFFLER))
    host.hear(report(1, Delivered("A")))
    assert [each.counts for each in host.seen if isinstance(each, SetDelivered)] == [{}]


def test_a_listener_takes_other_bytes_under_a_number_that_it_took() -> None:
    """At once, because it can ask for nothing; the gap is on record."""
    host = listener(Intake(A, 1))
    host.hear(b"".join(report(number, FAULT) for number in range(1, 4)))
    host.seen.clear()
    gap, cleared = host.hears(report(2, CLEAR))
    assert resumed(gap, "4", "2")
    assert isinstance(cleared, FaultCleared)
    assert kinds(host, report(1, FAULT), report(3, FAULT)) == ["CopyHeard", "FaultRaised"]


@pytest.mark.parametrize(("first", "again"), [(1, 65), (1, 66), (200, 1)])
def test_a_listener_takes_what_no_window_can_repeat(first: int, again: int) -> None:
    """An earlier number that it never heard is one that it missed, unless it lies too far back."""
    host = listener(Intake(A, first))
    upto = first + 65
    host.hear(b"".join(report(number, FAULT) for number in range(first, upto + 1)))
    far = upto + 1 - again > REPEATABLE
    assert kinds(host, report(again, FAULT)) == (["Resumed", "FaultRaised"] if far else ["CopyHeard"])


def test_a_listener_hears_by_the_clock_and_by_hello_that_the_numbers_began_again() -> None:
    """Either alone; the HELLO is the answer to another host, or that of the restart."""
    host = listener(Intake(A, 1))
    host.hear(report(1, FAULT))
    assert kinds(host, report(2, FAULT, clock_us=5)) == ["Resumed", "FaultRaised"]
    assert kinds(host, report(3, FAULT), hello(upcoming=4)) == ["FaultRaised", "Identified"]
    gap, *_ = host.hears(hello(upcoming=2, oldest=2))
    assert resumed(gap, "4", "2")
    assert kinds(host, report(2, FAULT), report(3, FAULT)) == ["FaultRaised", "FaultRaised"]


@pytest.mark.parametrize(("role", "other"), [("shoe", "shuffler"), ("shuffler", "shoe")])
def test_a_device_of_the_other_role_is_refused(role: str, other: str) -> None:
    """In plain words; nothing of it is taken and nothing acknowledged, so that it keeps its reports."""
    host = Host(Clock(), role=role)
    host.take(LinkUp(PORT))
    raw = hello(role=Role(other), upcoming=2)
    refused, doubted = host.hears(raw)
    assert isinstance(refused, FrameRejected)
    assert doubted == DeviceDoubted(at=host.clock.now, reason=DeviceDoubt.WRONG_ROLE, detail=refused.detail)
    assert (refused.raw, refused.reason) == (raw.hex(" "), "wrong-role")
    assert f"says that it is a {other}" in refused.detail
    assert f"[table.{other}]" in refused.detail
    assert host.hears(report(1, FaultChanged(2, raised=True, blocking=True))) == []
    assert Acknowledge not in [type(each) for each in asked(host.hear(report(1, theirs.Empty())))]


@pytest.mark.parametrize(
    ("said", "role", "reason", "word"),
    [
        pytest.param(
            theirs.Shuffling(), "shoe", "wrong-role", "Shuffling is nothing that a shoe says", id="of the other"
        ),
        pytest.param(theirs.Empty(), "shuffler", "wrong-role", "Empty is nothing that a shuffler says", id="and round"),
    ],
)
def test_what_only_the_other_role_says_is_on_record_and_its_number_taken(
    said: Reported, role: str, reason: str, word: str
) -> None:
    """A card may have been meant by it: what came so far is no longer proven to be whole."""
    host = greeted(role=role)
    raw = report(1, said)
    assert asked(host.hear(raw)) == [Acknowledge(A, 1)]
    refused, lost = host.seen
    assert isinstance(refused, FrameRejected)
    assert isinstance(lost, SequenceJumped)
    assert (refused.reason, refused.detail) == (reason, f"report 1: {word}")
    assert (lost.expected, lost.frame.sequence, lost.missed_at_least) == ("1", "1", 1)


def test_a_report_that_its_version_does_not_declare_is_on_record_and_its_number_taken() -> None:
    """Place 6, its check right: asked for again it would come the same."""
    host = greeted()
    frame = "7E 01 20 00 01 A1 B2 C3 D4 00 00 00 00 00 0F 42 40 18 06 00 00 01 E8 48 00 31 67 DF 7A 7F"
    assert asked(host.hear(bytes.fromhex(frame))) == [Acknowledge(A, 1)]
    refused, lost = host.seen
    assert isinstance(refused, FrameRejected)
    assert refused.reason == Reason.UNDECLARED_CODE.value
    assert "place" in refused.detail
    assert isinstance(lost, SequenceJumped)


def test_an_unknown_version_is_refused_and_said_plainly() -> None:
    """Nothing is taken, acknowledged or asked for by it; the check is right."""
    host = greeted()
    frame = bytes.fromhex("7E 09 20 00 01 A1 B2 C3 D4 00 00 00 00 00 0F 42 40 18 00 00 00 01 E8 48 00 80 BA D6 FE 7F")
    assert host.hear(frame) == b""
    refused, doubted = host.seen
    assert isinstance(refused, FrameRejected)
    assert doubted == DeviceDoubted(at=host.clock.now, reason=DeviceDoubt.UNKNOWN_VERSION, detail=refused.detail)
    assert refused.reason == "unknown-version"
    assert "speaks version 9 of Open Shoe" in refused.detail


# --- acknowledgements, and what is missing


def test_one_acknowledgement_stands_for_all_that_came_together() -> None:
    """A window of 32 that is said again does not make 32 of them."""
    host = greeted()
    window = b"".join(report(sequence, numbered(sequence)) for sequence in range(1, 33))
    assert asked(host.hear(window)) == [Acknowledge(A, 32)]
    host.seen.clear()
    assert asked(host.hear(window)) == [Acknowledge(A, 32)]
    assert {type(each) for each in host.seen} == {CopyHeard}


def test_what_is_missing_is_asked_for_at_once_and_then_every_second() -> None:
    """Until it comes; the later ones are dropped without a word."""
    host = greeted()
    assert asked(host.hear(report(2, theirs.Empty()))) == [Resend(A, 1)]
    assert host.seen == []
    host.clock.ms = 999
    assert host.take(Woken()) == b""
    host.clock.ms = 1000
    assert host.session.wake_at(host.state) == host.clock.now.mono_ns
    assert asked(host.take(Woken())) == [Resend(A, 1)]


def test_an_idle_device_betrays_what_was_lost() -> None:
    """By the number that its ALIVE says to come next."""
    host = greeted()
    assert host.hear(build(Notice(1, Alive(A, 1)))) == b""
    assert asked(host.hear(build(Notice(1, Alive(A, 2))))) == [Resend(A, 1)]


def test_a_device_that_says_nothing_is_asked_ever_more_seldom() -> None:
    """Once a second, until the line is called quiet; then as seldom as that, and at once when it is heard."""
    host = Host(Clock())
    host.take(LinkUp(PORT))
    times = []
    for _ in range(33):
        due = host.session.wake_at(host.state)
        assert due is not None
        host.clock.ms = (due - START.mono_ns) / 1e6
        if host.take(Woken()):
            times.append(host.clock.ms)
    assert times == [*range(1000, 30_000, 1000), 59_000, 89_000, 119_000]
    assert [type(each) for each in host.seen] == [LinkOpened, DeviceDoubted, WentQuiet]
    host.clock.ms += 2000
    host.hear(b"\x7e")
    due = host.session.wake_at(host.state)
    assert due is not None
    assert due <= host.clock.now.mono_ns


def test_the_host_speaks_the_version_that_it_heard() -> None:
    """Before that, version 1; and the next device may speak another."""
    host = Host(Clock())
    assert host.take(LinkUp(PORT))[1] == 1
    host.hear(hello(version=2))
    assert host.hear(report(1, theirs.Empty(), version=2))[1] == 2
    assert host.hear(report(2, theirs.Empty()))[1] == 1


def test_a_link_that_closes_forgets_what_was_asked_for() -> None:
    """Nothing is sent into nowhere, and nobody is woken for it."""
    host = greeted()
    host.hear(report(2, theirs.Empty()))
    host.take(LinkDown("pulled"))
    assert host.session.wake_at(host.state) is None
    assert host.take(Received(report(1, theirs.Empty()))) == b""
    assert [type(each) for each in host.seen] == [LinkClosed]


# --- a host that only listens


def test_a_host_that_only_listens_says_nothing() -> None:
    """Not to open, not to acknowledge, not to ask, not to order."""
    host = listener()
    said = [HELLO, report(1, theirs.Empty()), report(1, theirs.Empty()), report(5, theirs.Empty())]
    said += [build(Notice(1, Alive(A, 9))), report(1, theirs.Empty(), of=B), report(6, theirs.Empty())[:9]]
    assert [host.hear(each) for each in said] == [b""] * len(said)
    host.clock.ms = 100_000
    assert host.take(Woken()) == b""
    assert host.take(Ordered(DeviceOrder(DeviceOrderKind.LOCK))) == b""
    refused = host.seen[-1]
    assert isinstance(refused, OrderAnswered)
    assert (refused.accepted, refused.detail) == (False, LISTENS)


def test_a_listener_takes_what_comes_and_has_the_gaps_on_record() -> None:
    """Later ones at once, copies not at all; of its very first report nothing before was missed."""
    host = listener()
    assert kinds(host, report(7, theirs.Empty())) == ["ShoeEmptied"]
    assert kinds(host, report(8, theirs.Empty()), report(7, theirs.Empty())) == ["ShoeEmptied", "CopyHeard"]
    jumped, emptied = host.hears(report(11, theirs.Empty()))
    assert isinstance(jumped, SequenceJumped)
    assert isinstance(emptied, ShoeEmptied)
    assert (jumped.expected, jumped.frame.sequence, jumped.missed_at_least) == ("9", "11", 2)
    assert kinds(host, report(9, theirs.Empty())) == ["CopyHeard"]


@pytest.mark.parametrize(
    ("sequence", "of", "known", "lost"),
    [
        (9, A, Continuity.PROVEN, 0),
        (10, A, Continuity.LOST, 1),
        (14, A, Continuity.LOST, 5),
        (1, B, Continuity.UNKNOWN, 0),
        (9, B, Continuity.UNKNOWN, 0),
    ],
)
def test_a_listener_that_was_away_hears_from_the_number_what_it_missed(
    sequence: int, of: int, known: Continuity, lost: int
) -> None:
    """The successor of the last one proves that nothing was; once said, it is not said again."""
    host = listener(Intake(A, 9))
    host.take(LinkDown("pulled"))
    host.take(LinkUp(PORT))
    resumed, emptied = host.hears(report(sequence, theirs.Empty(), of=of))
    assert isinstance(resumed, Resumed)
    assert isinstance(emptied, ShoeEmptied)
    assert (resumed.continuity, resumed.missed_at_least) == (known, lost)
    assert kinds(host, report(sequence + 1, theirs.Empty(), of=of)) == ["ShoeEmptied"]


def test_a_listener_hears_a_stream_end_on_an_open_line() -> None:
    """What lay between is lost, or may be."""
    host = listener(Intake(A, 9))
    resumed, _ = host.hears(report(1, theirs.Empty(), of=B))
    assert isinstance(resumed, Resumed)
    assert (resumed.continuity, resumed.missed_at_least) == (Continuity.UNKNOWN, 0)


def test_a_listener_is_told_who_it_is_once() -> None:
    """HELLO comes only when the other host asks; one of another stream is another device, perhaps, as on a new link."""
    host = listener()
    assert kinds(host, report(1, theirs.Empty()), hello(upcoming=2), hello(upcoming=2)) == ["ShoeEmptied", "Identified"]
    assert kinds(host, hello(of=B)) == ["Identified"]
    assert kinds(host, hello(role=Role.SHUFFLER)) == ["FrameRejected", "DeviceDoubted"]
    host.take(LinkDown("pulled"))
    host.take(LinkUp(PORT))
    assert kinds(host, hello(upcoming=2)) == ["Identified"]


def test_a_listener_forgets_a_set_of_which_reports_were_lost() -> None:
    """Its inventory may have been counted anew in them."""
    host = listener(role="shuffler")
    host.hear(report(1, Inventory("A", COUNTS, 0)))
    host.hear(report(3, Delivered("A")))
    assert [each.counts for each in host.seen if isinstance(each, SetDelivered)] == [{}]


# --- orders


def order(host: Host, kind: DeviceOrderKind, fault: int | None = None) -> bytes:
    return host.take(Ordered(DeviceOrder(kind, fault)))


def answers(host: Host) -> list[tuple[str, bool, str]]:
    return [(each.order, each.accepted, each.detail) for each in host.seen if isinstance(each, OrderAnswered)]


@pytest.mark.parametrize(
    ("kind", "fault", "text", "said"),
    [
        (DeviceOrderKind.LOCK, None, "lock", Order(theirs.OrderKind.LOCK)),
        (DeviceOrderKind.UNLOCK, None, "unlock", Order(theirs.OrderKind.UNLOCK)),
        (DeviceOrderKind.CLEAR_FAULT, 2, "clear-fault 2", Order(theirs.OrderKind.CLEAR, 2)),
    ],
)
def test_an_order_is_sent_and_answered(kind: DeviceOrderKind, fault: int | None, text: str, said: Order) -> None:
    """By the DONE that names it, and by no other."""
    host = greeted(allow_orders=True)
    number = fault or 0
    assert asked(order(host, kind, fault)) == [said]
    other = next(each for each in theirs.OrderKind if each is not said.order)
    host.hear(build(Notice(1, Done(other, number, Result.DONE))))
    host.hear(build(Notice(1, Done(said.order, number, Result.DONE))))
    host.hear(build(Notice(1, Done(said.order, number, Result.DONE))))
    assert answers(host) == [("not ours", True, ""), (text, True, ""), ("not ours", True, "")]


@pytest.mark.parametrize("result", [each for each in Result if each is not Result.DONE])
def test_an_order_that_is_not_done_is_answered_with_the_reason(result: Result) -> None:
    """Not now, unable, failed."""
    host = greeted(allow_orders=True)
    order(host, DeviceOrderKind.LOCK)
    host.hear(build(Notice(1, Done(theirs.OrderKind.LOCK, 0, result))))
    assert answers(host) == [("lock", False, result.value)]


@pytest.mark.parametrize(
    ("kind", "fault", "word"),
    [
        (DeviceOrderKind.CONFIRM, None, "an Open Shoe has no process to confirm; leave the order out"),
        (
            DeviceOrderKind.CLEAR_FAULT,
            None,
            "an Open Shoe clears a fault by its code, and no fault is known; clear it at the device",
        ),
        (DeviceOrderKind.CLEAR_FAULT, 256, "an Open Shoe has no fault 256; its faults are 0 to 255"),
        (DeviceOrderKind.CLEAR_FAULT, -1, "an Open Shoe has no fault -1; its faults are 0 to 255"),
    ],
)
def test_an_order_that_the_protocol_does_not_know_is_refused(
    kind: DeviceOrderKind, fault: int | None, word: str
) -> None:
    """Nothing waits for an answer after it."""
    host = greeted(allow_orders=True)
    assert order(host, kind, fault) == b""
    assert answers(host) == [(str(DeviceOrder(kind, fault)), False, word)]
    assert order(host, DeviceOrderKind.LOCK) != b""


def test_orders_wait_for_the_greeting_and_for_leave() -> None:
    """Nobody knows yet who would be locked; and without allow_orders nothing is ever ordered."""
    host = Host(Clock(), allow_orders=True)
    assert order(host, DeviceOrderKind.LOCK) == b""
    host.take(LinkUp(PORT))
    assert order(host, DeviceOrderKind.LOCK) == b""
    assert order(greeted(), DeviceOrderKind.LOCK) == b""
    assert [detail for *_, detail in answers(host)] == [
        "the link is closed; connect the device, then repeat the order",
        "the device has not identified itself yet; wait for device/identified, then repeat the order",
    ]


def test_an_order_is_given_up_when_its_time_is_over_or_the_link_closes() -> None:
    """The session says when it wants to be woken for it."""
    host = greeted(allow_orders=True)
    order(host, DeviceOrderKind.LOCK)
    assert order(host, DeviceOrderKind.UNLOCK) == b""
    host.clock.ms = 3000
    assert host.session.wake_at(host.state) == host.clock.now.mono_ns
    host.take(Woken())
    order(host, DeviceOrderKind.UNLOCK)
    host.take(LinkDown("pulled"))
    assert answers(host) == [
        ("unlock", False, "the order lock still waits for its answer; repeat this order after it"),
        ("lock", False, "no answer in time"),
        ("unlock", False, "the link closed"),
    ]
