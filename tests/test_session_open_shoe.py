"""The host's session with an Open Shoe: the observations of each message, HELLO, requests and orders."""

from typing import Final

import pytest

from firmware_protocols.family import Reason
from firmware_protocols.open_shoe import OpenShoeSettings, build, orders
from firmware_protocols.open_shoe import messages as theirs
from firmware_protocols.open_shoe.layout import FACES
from firmware_protocols.open_shoe.messages import (
    Alive,
    CardOrder,
    Delivered,
    Done,
    FaultChanged,
    Hello,
    Identify,
    Inventory,
    OpenShoeAcknowledge,
    OpenShoeNotice,
    OpenShoeOrder,
    OpenShoePassage,
    OpenShoeReport,
    OpenShoeRequest,
    OpenShoeResult,
    OpenShoeRole,
    ReportBody,
    Requested,
    Resend,
)
from shoed import wire
from shoed.model.cards import Card
from shoed.model.moments import Chunk
from shoed.model.observations import (
    AnyObservation,
    CardSeen,
    Continuity,
    CopyHeard,
    CutCardSeen,
    DeviceDoubt,
    DoubtRaised,
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
    SetDeliverySeen,
    SetRecognitionSeen,
    ShoeEmptySeen,
    ShoeLoaded,
    ShuffleEnded,
    ShuffleStarted,
    WentQuiet,
)
from shoed.model.observations import Reported as Observed
from shoed.model.step import DeviceOrder, DeviceOrderKind, LinkDown, LinkUp, Ordered, Received, Woken
from shoed.session.open_shoe import LISTENS, SETS
from shoed.session.open_shoe_observations import SET_CARDS
from shoed.session.open_shoe_stream import REPEATABLE, Intake
from shoed.wire import Frame, LineState
from tests.open_shoe_line import LISTENING, PORT, START, A, Clock, Host, numbered

B: Final = 0xB
CLOCK_US: Final = 3_000_000
EIGHT: Final = theirs.OpenShoeFace(theirs.OpenShoeSuit.SPADES, 8)
IDENTIFY: Final = bytes.fromhex("7E 01 80 00 00 78 CD A3 F9 7F")
HELLO: Final = bytes.fromhex(
    "7E 01 01 00 00 A1 B2 C3 D4 01 00 01 00 01 04 41 63 6D 65 02 53 31 04 30 30 34 32 03 31 2E 30 3D 77 C2 F1 7F"
)
SECOND: Final = bytes.fromhex(  # the eight of spades, Player's first
    "7E 01 20 00 02 A1 B2 C3 D4 00 00 00 00 00 1E 84 80 18 01 01 00 01 E8 48 00 E6 9C D6 17 7F"
)
ACK_2: Final = bytes.fromhex("7E 01 81 00 00 A1 B2 C3 D4 00 02 C5 57 33 53 7F")


def report(sequence: int, body: ReportBody, *, of: int = A, version: int = 1, clock_us: int = CLOCK_US) -> bytes:
    return build(OpenShoeReport(version, sequence, of, clock_us, body))


def hello(
    *, of: int = A, upcoming: int = 1, oldest: int = 1, role: OpenShoeRole = OpenShoeRole.SHOE, version: int = 1
) -> bytes:
    return build(OpenShoeNotice(version, Hello(of, role, upcoming, oldest, "Acme", "S1", "0042", "1.0")))


def asked(data: bytes) -> list[Requested]:
    """The requests of the host, read as the device reads them."""
    _, found = wire.receive(orders(OpenShoeSettings()), LineState(), Chunk(data, START))
    return [each.message.body for each in found if isinstance(each, Frame)]


def greeted(*, role: str = "shoe", due: int = 1, allow_orders: bool = False) -> Host:
    """A host that knows stream A, has accepted it up to `due`, and has received HELLO."""
    host = Host(Clock(), role=role, allow_orders=allow_orders, intake=Intake(A, due))
    host.take(LinkUp(PORT))
    host.hear(hello(upcoming=due, oldest=due, role=OpenShoeRole(role)))
    host.seen.clear()
    return host


def listener(intake: Intake | None = None, *, role: str = "shoe") -> Host:
    host = Host(Clock(), LISTENING, role=role, allow_orders=True, intake=intake)
    assert host.take(LinkUp(PORT)) == b""
    host.seen.clear()
    return host


def evidence(raw: bytes, sequence: str, offset: int = 0) -> Evidence:
    return Evidence(raw.hex(" "), offset, sequence)


def observed(body: ReportBody, *, role: str = "shoe", version: int = 1) -> AnyObservation:
    """The one observation of a report, without its evidence."""
    host = greeted(role=role)
    raw = report(1, body, version=version)
    (seen,) = host.hears(raw)
    assert isinstance(seen, Observed)
    assert (seen.frame.raw, seen.frame.sequence, seen.at) == (raw.hex(" "), "1", host.clock.now)
    return seen


def is_same(expected: AnyObservation, seen: AnyObservation) -> bool:
    """Whether both are equal except for their moment and evidence."""
    names = set(expected.__struct_fields__) - {"at", "frame"}
    return type(expected) is type(seen) and all(getattr(expected, name) == getattr(seen, name) for name in names)


def kinds(host: Host, *body: bytes) -> list[str]:
    return [type(each).__name__ for raw in body for each in host.hears(raw)]


NOW: Final = Clock().now
NONE: Final = Evidence("", 0, "")


# --- the observation of each report


@pytest.mark.parametrize(
    ("place", "ours", "position"),
    [
        (theirs.OpenShoePlace.DEALT, Place.DEALT, 0),
        (theirs.OpenShoePlace.PLAYER, Place.PLAYER, 1),
        (theirs.OpenShoePlace.BANKER, Place.BANKER, 3),
        (theirs.OpenShoePlace.BURNT, Place.BURN, 7),
        (theirs.OpenShoePlace.LOCKED, Place.LOCKED, 0),
        (theirs.OpenShoePlace.ERROR, Place.ERROR, 0),
    ],
)
def test_a_card_has_its_place_and_its_edges(place: theirs.OpenShoePlace, ours: Place, position: int) -> None:
    """The clock of the report is the moment of the leading edge."""
    edges = Edges(CLOCK_US, CLOCK_US + 125_000)
    seen = observed(theirs.OpenShoeCard(EIGHT, place, position, 125_000))
    assert isinstance(seen, CardSeen)
    expected = CardSeen(at=NOW, frame=NONE, place=ours, position=position, card=Card.S8, edges=edges, drawn=seen.drawn)
    assert is_same(expected, seen)


@pytest.mark.parametrize("face", FACES, ids=str)
def test_every_card_has_its_rank_and_suit(face: theirs.OpenShoeFace) -> None:
    """Each face of the protocol becomes the card of the same rank and suit."""
    seen = observed(theirs.OpenShoeCard(face, theirs.OpenShoePlace.DEALT, 0, 0))
    assert isinstance(seen, CardSeen)
    assert seen.card is not None
    assert (seen.card.rank.value, seen.card.suit.name) == (face.rank, face.suit.name)


@pytest.mark.parametrize(
    ("face", "odd", "code", "card", "text", "double"),
    [
        (EIGHT, OpenShoePassage.CLEAN, 0, Card.S8, "", False),
        (EIGHT, OpenShoePassage.DOUBLE, 0, Card.S8, "", True),
        (None, OpenShoePassage.CLEAN, 0, None, "", False),
        (None, OpenShoePassage.CLEAN, 0xBEEF, None, "beef", False),
        (None, OpenShoePassage.FOREIGN, 0x0B, None, "foreign 000b", False),
        (EIGHT, OpenShoePassage.FOREIGN | OpenShoePassage.DOUBLE, 0, None, "foreign 8S", True),
        (EIGHT, OpenShoePassage.FOREIGN, 0xBEEF, None, "foreign 8S beef", False),
    ],
)
def test_a_foreign_card_has_no_face(  # noqa: PLR0913, PLR0917 -- the columns of the table
    face: theirs.OpenShoeFace | None,
    odd: OpenShoePassage,
    code: int,
    card: Card | None,
    text: str,
    double: bool,  # noqa: FBT001
) -> None:
    """A person decides which card it replaces; its code is the only evidence."""
    seen = observed(theirs.OpenShoeCard(face, theirs.OpenShoePlace.DEALT, 0, 9, odd, 97, code), version=2)
    assert isinstance(seen, CardSeen)
    assert seen.edges is not None
    assert (seen.card, seen.code, seen.edges.double, seen.quality) == (card, text, double, 97)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (theirs.OpenShoeCutCard(), CutCardSeen(at=NOW, frame=NONE)),
        (theirs.Loaded("No7"), ShoeLoaded(at=NOW, frame=NONE, set_id="No7")),
        (theirs.Empty(), ShoeEmptySeen(at=NOW, frame=NONE)),
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
                (1, "unreadable", None),  # the card itself is reported, too
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
def test_a_shoe_report_without_a_card_is_one_observation(body: ReportBody, expected: AnyObservation) -> None:
    """One observation for each report."""
    assert is_same(expected, observed(body))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (theirs.Recognised("A7"), SetRecognitionSeen(at=NOW, frame=NONE, set_id="A7")),
        (theirs.Shuffling(), ShuffleStarted(at=NOW, frame=NONE)),
        (theirs.Shuffled(), ShuffleEnded(at=NOW, frame=NONE)),
        (theirs.OpenShoeFailed(1), ShuffleEnded(at=NOW, frame=NONE, failed="wrong-count")),
        (theirs.OpenShoeFailed(99), ShuffleEnded(at=NOW, frame=NONE, failed="reason 99")),
        (FaultChanged(5, raised=False, blocking=True), FaultCleared(at=NOW, frame=NONE, code=5, name="door-open")),
    ],
)
def test_a_shuffler_report_without_a_set_is_one_observation(body: ReportBody, expected: AnyObservation) -> None:
    """A reason that the page does not name is still a failure."""
    assert is_same(expected, observed(body, role="shuffler"))


# --- sets


COUNTS: Final = (7, 8, 9, *[8] * 49)
HELD: Final = dict.fromkeys(Card, 8) | {Card.SA: 7, Card.S3: 9}
ORDER: Final = tuple(FACES[number % 52] for number in range(416))


def shuffled(*body: ReportBody) -> list[SetDeliverySeen]:
    host = greeted(role="shuffler")
    for sequence, each in enumerate(body, start=1):
        host.hear(report(sequence, each, version=2))
    return [each for each in host.seen if isinstance(each, SetDeliverySeen)]


def parts(set_id: str, order: tuple[theirs.OpenShoeFace | None, ...], length: int = 120) -> list[CardOrder]:
    return [CardOrder(set_id, at + 1, order[at : at + length]) for at in range(0, len(order), length)]


def test_a_set_is_delivered_as_it_was_counted() -> None:
    """The delivery has the count of each card, the number of unread cards, and the id. A count of 0 is omitted."""
    (seen,) = shuffled(Inventory("A7", (0, *COUNTS[1:]), 3), Delivered("A7"))
    assert (seen.set_id, seen.unread, seen.order) == ("A7", 3, ())
    assert seen.counts == {card: count for card, count in HELD.items() if card is not Card.SA}


def test_the_order_of_a_set_is_joined_from_its_parts() -> None:
    """The first card is dealt first, also if INVENTORY follows the order."""
    (seen,) = shuffled(*parts("A7", ORDER), Inventory("A7", (8,) * 52, 0), Delivered("A7"))
    assert [card.value for card in seen.order[:14]] == [card.value for card in [*Card][:14]]
    assert len(seen.order) == 416


@pytest.mark.parametrize(
    "body",
    [
        pytest.param([parts("A7", ORDER)[0], *parts("A7", ORDER)[2:]], id="a part was lost"),
        pytest.param(parts("A7", ORDER)[:3], id="the last part was lost"),
        pytest.param(parts("A7", ORDER)[1:], id="the first part was lost"),
        pytest.param(parts("A7", (*ORDER[:415], None)), id="a card was not read"),
        pytest.param(parts("B2", ORDER), id="of another set"),
        pytest.param(parts("A7", ORDER * 3), id="more cards than any shoe holds"),
    ],
)
def test_an_incomplete_order_is_not_reported(body: list[CardOrder]) -> None:
    """With one wrong place, every later card would count as altered."""
    (seen,) = shuffled(*body, Inventory("A7", (8,) * 52, 0), Delivered("A7"))
    assert (seen.order, sum(seen.counts.values())) == ((), 416)


def test_an_order_may_be_repeated() -> None:
    """A repetition from the first place on replaces the earlier order."""
    (seen,) = shuffled(*parts("A7", ORDER)[:2], *parts("A7", ORDER[::-1]), Delivered("A7"))
    assert (len(seen.order), seen.order[0]) == (416, Card.CK)


def test_two_sets_at_once_are_not_mixed_up() -> None:
    """Two sets are counted and delivered separately. A second delivery has no counts."""
    first, second, third = shuffled(
        Inventory("A", COUNTS, 0), Inventory("B", (8,) * 52, 1), Delivered("A"), Delivered("B"), Delivered("A")
    )
    assert (first.set_id, first.counts, second.set_id, second.unread) == ("A", HELD, "B", 1)
    assert (third.set_id, third.counts, third.order) == ("A", {}, ())


def test_undelivered_sets_do_not_grow_the_state() -> None:
    """The session keeps the last few sets, and a limited number of cards of each."""
    host = greeted(role="shuffler")
    for number in range(3 * SETS):
        host.hear(report(2 * number + 1, Inventory(str(number), COUNTS, 0)))
        host.hear(report(2 * number + 2, CardOrder(str(number), 1, ORDER[:200]), version=2))
    assert [*host.state.sets] == [str(number) for number in range(2 * SETS, 3 * SETS)]
    for number in range(12):
        host.hear(report(6 * SETS + 1 + number, CardOrder("11", 200 * number + 1, ORDER[:200]), version=2))
    assert len(host.state.sets["11"].order) <= SET_CARDS


def test_a_set_of_another_stream_is_forgotten() -> None:
    """After a loss of reports, the inventory may be of another set."""
    host = greeted(role="shuffler")
    host.hear(report(1, Inventory("A", COUNTS, 0)))
    host.hear(hello(of=B, role=OpenShoeRole.SHUFFLER))
    host.hear(report(1, Delivered("A"), of=B))
    assert [each.counts for each in host.seen if isinstance(each, SetDeliverySeen)] == [{}]


# --- HELLO and continuity


def test_a_device_is_identified_once() -> None:
    """The bytes are those of the page. The first device was never away. A repeated HELLO causes no observation."""
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
    assert host.hear(report(1, theirs.Empty(), clock_us=1_000_000)) == build(
        OpenShoeRequest(1, OpenShoeAcknowledge(A, 1))
    )
    assert host.hear(SECOND) == ACK_2


def test_after_an_absence_hello_precedes_every_report() -> None:
    """Before HELLO, no report is accepted, because its stream is not known."""
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
    assert isinstance(seen, ShoeEmptySeen)


def test_another_stream_proves_nothing() -> None:
    """A new stream proves nothing, also on a line that stays open: the device may have lost its power."""
    host = greeted(due=7)
    assert asked(host.hear(report(1, theirs.Empty(), of=B))) == [Identify()]
    resumed, who = host.hears(hello(of=B, upcoming=2, oldest=1))
    assert isinstance(resumed, Resumed)
    assert isinstance(who, Identified)
    assert (resumed.continuity, resumed.missed_at_least) == (Continuity.UNKNOWN, 0)
    assert [type(each) for each in host.hears(report(1, theirs.Empty(), of=B))] == [ShoeEmptySeen]


@pytest.mark.parametrize("due", [7, 65535])
def test_a_device_that_dropped_the_due_report_states_the_number_of_lost_reports(due: int) -> None:
    """Within one stream the numbers are compared, also across their end."""
    host = greeted(due=due)
    host.take(LinkDown("pulled"))
    host.take(LinkUp(PORT))
    oldest = (due + 2) % 65535 + 1
    resumed, _ = host.hears(hello(upcoming=oldest, oldest=oldest))
    assert isinstance(resumed, Resumed)
    assert (resumed.continuity, resumed.missed_at_least) == (Continuity.LOST, 3)
    assert (resumed.expected, resumed.frame.sequence) == (str(due), str(oldest))


@pytest.mark.parametrize("away_s", [0, 1_000_000])
def test_numbers_prove_continuity_after_any_absence(away_s: int) -> None:
    """The length of the absence has no effect. A listening host has the same proof with the next report."""
    for host in (greeted(due=7), listener(Intake(A, 7))):
        host.take(LinkDown("pulled"))
        host.clock.ms += away_s * 1000
        host.take(LinkUp(PORT))
        resumed, *_ = host.hears(hello(upcoming=8, oldest=7) + report(7, theirs.Empty()))[host.session.listens :]
        assert isinstance(resumed, Resumed)
        assert (resumed.continuity, resumed.missed_at_least, resumed.expected) == (Continuity.PROVEN, 0, "")


# --- reused numbers under the same stream


LATER_US: Final = CLOCK_US + 1_000_000
FAULT: Final = FaultChanged(2, raised=True, blocking=True)
CLEAR: Final = FaultChanged(2, raised=False, blocking=False)


def taken(reports: int, *, role: str = "shoe", version: int = 1) -> Host:
    """A host that accepted this number of reports, and acknowledged them."""
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
    """Whether the observations report unknown continuity between these numbers."""
    return (
        isinstance(seen, Resumed)
        and (seen.continuity, seen.missed_at_least) == (Continuity.UNKNOWN, 0)
        and (seen.expected, seen.frame.sequence) == (expected, sequence)
    )


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("role", ["shoe", "shuffler"])
def test_other_bytes_under_an_accepted_number_are_not_a_copy(role: str, version: int) -> None:
    """The host requests HELLO; then it accepts all reports that the device keeps, after a recorded gap."""
    host = taken(3, role=role, version=version)
    again = report(1, CLEAR, version=version, clock_us=LATER_US)
    assert asked(host.hear(again)) == [Identify()]
    assert asked(host.hear(again)) == []
    assert host.seen == []
    raw = hello(upcoming=2, oldest=1, role=OpenShoeRole(role), version=version)
    assert asked(host.hear(raw)) == [Resend(A, 1)]
    gap, who = host.seen
    assert resumed(gap, "4", "1")
    assert isinstance(who, Identified)
    assert asked(host.hear(again)) == [OpenShoeAcknowledge(A, 1)]
    assert isinstance(host.seen[-1], FaultCleared)
    assert asked(host.hear(again)) == [OpenShoeAcknowledge(A, 1)]
    assert isinstance(host.seen[-1], CopyHeard)


def test_a_copy_is_acknowledged_by_its_own_number() -> None:
    """An acknowledgement of the last accepted report would make a device that reuses numbers delete new reports."""
    host = taken(3)
    assert asked(host.hear(report(2, FAULT))) == [OpenShoeAcknowledge(A, 2)]
    assert kinds(host, report(3, FAULT)) == ["CopyHeard"]


def test_accepted_reports_that_are_still_kept_are_compared_first() -> None:
    """The due number proves nothing: here it is among the reports of the new numbering."""
    host = away(taken(3))
    assert asked(host.hear(hello(upcoming=6, oldest=2))) == [Resend(A, 2)]
    assert [type(each) for each in host.seen] == [Identified]
    assert asked(host.hear(report(4, CLEAR))) == []
    assert asked(host.hear(report(2, FAULT))) == [OpenShoeAcknowledge(A, 2)]
    assert asked(host.hear(report(3, CLEAR))) == [OpenShoeAcknowledge(A, 3)]
    _, copy, gap, cleared = host.seen
    assert isinstance(copy, CopyHeard)
    assert resumed(gap, "4", "3")
    assert isinstance(cleared, FaultCleared)
    assert kinds(host, report(4, CLEAR)) == ["FaultCleared"]


@pytest.mark.parametrize("repeated", [False, True])
def test_continuity_is_proven_after_all_kept_reports_were_compared(repeated: bool) -> None:  # noqa: FBT001 -- a column
    """The last copy proves it, or a HELLO from which the compared reports have disappeared."""
    host = away(taken(3))
    assert kinds(host, hello(upcoming=4, oldest=2), report(2, FAULT)) == ["Identified", "CopyHeard"]
    last = hello(upcoming=4, oldest=4) if repeated else report(3, FAULT)
    (proof,) = [each for each in host.hears(last) if isinstance(each, Resumed)]
    assert proof.proven
    assert kinds(host, report(4, CLEAR)) == ["FaultCleared"]


def test_a_hello_that_goes_back_begins_a_new_numbering() -> None:
    """On a line that was just opened, the reports from `next` on are new, whatever their bytes are."""
    host = away(taken(3))
    assert asked(host.hear(hello(upcoming=2, oldest=2))) == []
    gap, who = host.seen
    assert resumed(gap, "4", "2")
    assert isinstance(who, Identified)
    assert kinds(host, report(2, FAULT), report(3, FAULT)) == ["FaultRaised", "FaultRaised"]


@pytest.mark.parametrize("oldest", [1, 2])
def test_a_hello_that_goes_back_may_name_accepted_reports(oldest: int) -> None:
    """These reports are compared, too; the gap is recorded once."""
    host = away(taken(5))
    host.hear(hello(upcoming=4, oldest=oldest))
    same = [report(number, FAULT) for number in range(oldest, 3)]
    assert kinds(host, *same) == ["CopyHeard"] * len(same)
    assert kinds(host, report(3, CLEAR), report(4, FAULT)) == ["FaultCleared", "FaultRaised"]


def test_a_hello_that_goes_back_on_an_open_line_is_requested_again() -> None:
    """Before the second HELLO, no report is accepted. The second HELLO decides."""
    host = taken(3)
    assert asked(host.hear(hello(upcoming=1, oldest=1))) == [Identify()]
    assert (host.hear(report(1, CLEAR)), host.seen) == (b"", [])
    assert kinds(host, hello(upcoming=2, oldest=1)) == ["Resumed", "Identified"]
    assert kinds(host, report(1, CLEAR)) == ["FaultCleared"]


def test_alive_of_an_idle_device_shows_that_numbers_are_reused() -> None:
    """Its `next` is a number that was already accepted."""
    host = taken(3)
    assert asked(host.hear(build(OpenShoeNotice(1, Alive(A, 2))))) == [Identify()]
    assert kinds(host, hello(upcoming=2, oldest=2)) == ["Resumed", "Identified"]


def test_a_clock_that_goes_back_makes_the_host_request_hello() -> None:
    """The number may be due by chance: HELLO shows the other reports that the device keeps."""
    for number in (4, 5):
        host = taken(3)
        early = report(number, CLEAR, clock_us=CLOCK_US - 1)
        assert asked(host.hear(early)) == [Identify()]
        assert asked(host.hear(hello(upcoming=number + 1, oldest=1))) == [Resend(A, 1)]
        assert kinds(host, report(1, CLEAR, clock_us=7)) == ["Resumed", "FaultCleared"]


def test_a_report_that_no_window_can_repeat_is_not_a_copy() -> None:
    """Its CRC is no longer stored: HELLO shows that the device still keeps its number."""
    host = away(taken(100))
    host.hear(hello(upcoming=150, oldest=1))
    assert kinds(host, report(1, FAULT), report(2, FAULT)) == ["Resumed", "FaultRaised", "FaultRaised"]
    assert len(taken(100).state.intake.checks) == REPEATABLE


def test_a_report_that_contradicts_hello_is_accepted_after_a_gap() -> None:
    """HELLO was requested and does not include the report: the host would never receive it otherwise."""
    host = taken(3)
    assert asked(host.hear(report(2, CLEAR))) == [Identify()]
    assert kinds(host, hello(upcoming=4, oldest=4)) == ["Identified"]
    assert asked(host.hear(report(2, CLEAR))) == [OpenShoeAcknowledge(A, 2)]
    gap, cleared = host.seen[-2:]
    assert resumed(gap, "4", "2")
    assert isinstance(cleared, FaultCleared)


def test_a_set_of_an_earlier_numbering_is_forgotten() -> None:
    """Reused numbers have the same effect as another stream."""
    host = greeted(role="shuffler")
    host.hear(report(1, Inventory("A", COUNTS, 0)))
    host = away(host)
    host.hear(hello(upcoming=2, oldest=1, role=OpenShoeRole.SHUFFLER))
    host.hear(report(1, Delivered("A")))
    assert [each.counts for each in host.seen if isinstance(each, SetDeliverySeen)] == [{}]


def test_a_listener_accepts_other_bytes_under_an_accepted_number() -> None:
    """It accepts them immediately, because it cannot send requests; the gap is recorded."""
    host = listener(Intake(A, 1))
    host.hear(b"".join(report(number, FAULT) for number in range(1, 4)))
    host.seen.clear()
    gap, cleared = host.hears(report(2, CLEAR))
    assert resumed(gap, "4", "2")
    assert isinstance(cleared, FaultCleared)
    assert kinds(host, report(1, FAULT), report(3, FAULT)) == ["CopyHeard", "FaultRaised"]


@pytest.mark.parametrize(("first", "again"), [(1, 65), (1, 66), (200, 1)])
def test_a_listener_accepts_a_report_that_no_window_can_repeat(first: int, again: int) -> None:
    """It missed an earlier number that it never received, unless the number is too far back."""
    host = listener(Intake(A, first))
    upto = first + 65
    host.hear(b"".join(report(number, FAULT) for number in range(first, upto + 1)))
    far = upto + 1 - again > REPEATABLE
    assert kinds(host, report(again, FAULT)) == (["Resumed", "FaultRaised"] if far else ["CopyHeard"])


def test_a_listener_detects_reused_numbers_by_the_clock_and_by_hello() -> None:
    """One of them is sufficient; the HELLO answers another host, or follows a restart."""
    host = listener(Intake(A, 1))
    host.hear(report(1, FAULT))
    assert kinds(host, report(2, FAULT, clock_us=5)) == ["Resumed", "FaultRaised"]
    assert kinds(host, report(3, FAULT), hello(upcoming=4)) == ["FaultRaised", "Identified"]
    gap, *_ = host.hears(hello(upcoming=2, oldest=2))
    assert resumed(gap, "4", "2")
    assert kinds(host, report(2, FAULT), report(3, FAULT)) == ["FaultRaised", "FaultRaised"]


@pytest.mark.parametrize(("role", "other"), [("shoe", "shuffler"), ("shuffler", "shoe")])
def test_a_device_of_the_other_role_is_refused(role: str, other: str) -> None:
    """The reason is in plain words. No report is accepted or acknowledged, so that the device keeps its reports."""
    host = Host(Clock(), role=role)
    host.take(LinkUp(PORT))
    raw = hello(role=OpenShoeRole(other), upcoming=2)
    refused, doubted = host.hears(raw)
    assert isinstance(refused, FrameRejected)
    assert doubted == DoubtRaised(at=host.clock.now, reason=DeviceDoubt.WRONG_ROLE, detail=refused.detail)
    assert (refused.raw, refused.reason) == (raw.hex(" "), "wrong-role")
    assert f"the device reports the role {other}" in refused.detail
    assert f"[table.{other}]" in refused.detail
    assert host.hears(report(1, FaultChanged(2, raised=True, blocking=True))) == []
    assert OpenShoeAcknowledge not in [type(each) for each in asked(host.hear(report(1, theirs.Empty())))]


@pytest.mark.parametrize(
    ("body", "role", "reason", "word"),
    [
        pytest.param(
            theirs.Shuffling(), "shoe", "wrong-role", "SHUFFLING is not a message of a shoe", id="of a shuffler"
        ),
        pytest.param(theirs.Empty(), "shuffler", "wrong-role", "EMPTY is not a message of a shuffler", id="of a shoe"),
    ],
)
def test_a_message_of_the_other_role_is_recorded_and_its_number_accepted(
    body: ReportBody, role: str, reason: str, word: str
) -> None:
    """It may have meant a card: the record before it is no longer proven to be complete."""
    host = greeted(role=role)
    raw = report(1, body)
    assert asked(host.hear(raw)) == [OpenShoeAcknowledge(A, 1)]
    refused, lost = host.seen
    assert isinstance(refused, FrameRejected)
    assert isinstance(lost, SequenceJumped)
    assert (refused.reason, refused.detail) == (reason, f"report 1: {word}")
    assert (lost.expected, lost.frame.sequence, lost.missed_at_least) == ("1", "1", 1)


def test_a_report_that_its_version_does_not_declare_is_recorded_and_its_number_accepted() -> None:
    """Place 6 with a right CRC: a repetition would be identical."""
    host = greeted()
    frame = "7E 01 20 00 01 A1 B2 C3 D4 00 00 00 00 00 0F 42 40 18 06 00 00 01 E8 48 00 31 67 DF 7A 7F"
    assert asked(host.hear(bytes.fromhex(frame))) == [OpenShoeAcknowledge(A, 1)]
    refused, lost = host.seen
    assert isinstance(refused, FrameRejected)
    assert refused.reason == Reason.UNDECLARED_CODE.value
    assert "place" in refused.detail
    assert isinstance(lost, SequenceJumped)


def test_an_unknown_version_is_refused_with_its_number() -> None:
    """The CRC is right. The host accepts nothing, acknowledges nothing and requests nothing."""
    host = greeted()
    frame = bytes.fromhex("7E 09 20 00 01 A1 B2 C3 D4 00 00 00 00 00 0F 42 40 18 00 00 00 01 E8 48 00 80 BA D6 FE 7F")
    assert host.hear(frame) == b""
    refused, doubted = host.seen
    assert isinstance(refused, FrameRejected)
    assert doubted == DoubtRaised(at=host.clock.now, reason=DeviceDoubt.UNKNOWN_VERSION, detail=refused.detail)
    assert refused.reason == "unknown-version"
    assert "uses version 9 of Open Shoe" in refused.detail


# --- acknowledgements, and missing reports


def test_one_acknowledgement_covers_all_reports_of_a_chunk() -> None:
    """A repeated window of 32 reports causes one acknowledgement."""
    host = greeted()
    window = b"".join(report(sequence, numbered(sequence)) for sequence in range(1, 33))
    assert asked(host.hear(window)) == [OpenShoeAcknowledge(A, 32)]
    host.seen.clear()
    assert asked(host.hear(window)) == [OpenShoeAcknowledge(A, 32)]
    assert {type(each) for each in host.seen} == {CopyHeard}


def test_a_missing_report_is_requested_immediately_and_then_every_second() -> None:
    """The requests end when the report arrives; later reports are dropped without a request."""
    host = greeted()
    assert asked(host.hear(report(2, theirs.Empty()))) == [Resend(A, 1)]
    assert host.seen == []
    host.clock.ms = 999
    assert host.take(Woken()) == b""
    host.clock.ms = 1000
    assert host.session.wake_at(host.state) == host.clock.now.mono_ns
    assert asked(host.take(Woken())) == [Resend(A, 1)]


def test_alive_of_an_idle_device_shows_a_lost_report() -> None:
    """Its `next` is later than the due number."""
    host = greeted()
    assert host.hear(build(OpenShoeNotice(1, Alive(A, 1)))) == b""
    assert asked(host.hear(build(OpenShoeNotice(1, Alive(A, 2))))) == [Resend(A, 1)]


def test_a_silent_device_is_asked_more_rarely() -> None:
    """Each second until the line is quiet; then with the interval of the quiet time; immediately after a byte."""
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
    assert [type(each) for each in host.seen] == [LinkOpened, DoubtRaised, WentQuiet]
    host.clock.ms += 2000
    host.hear(b"\x7e")
    due = host.session.wake_at(host.state)
    assert due is not None
    assert due <= host.clock.now.mono_ns


def test_the_host_sends_the_version_of_the_last_frame() -> None:
    """Before the first frame, version 1; the next device may have another version."""
    host = Host(Clock())
    assert host.take(LinkUp(PORT))[1] == 1
    host.hear(hello(version=2))
    assert host.hear(report(1, theirs.Empty(), version=2))[1] == 2
    assert host.hear(report(2, theirs.Empty()))[1] == 1


def test_a_link_that_closes_ends_the_requests() -> None:
    """Nothing is sent to a closed link, and no timer runs."""
    host = greeted()
    host.hear(report(2, theirs.Empty()))
    host.take(LinkDown("pulled"))
    assert host.session.wake_at(host.state) is None
    assert host.take(Received(report(1, theirs.Empty()))) == b""
    assert [type(each) for each in host.seen] == [LinkClosed]


# --- a host that only listens


def test_a_host_that_only_listens_sends_nothing() -> None:
    """It sends no IDENTIFY, no ACK, no RESEND and no ORDER."""
    host = listener()
    frames = [HELLO, report(1, theirs.Empty()), report(1, theirs.Empty()), report(5, theirs.Empty())]
    frames += [build(OpenShoeNotice(1, Alive(A, 9))), report(1, theirs.Empty(), of=B), report(6, theirs.Empty())[:9]]
    assert [host.hear(each) for each in frames] == [b""] * len(frames)
    host.clock.ms = 100_000
    assert host.take(Woken()) == b""
    assert host.take(Ordered(DeviceOrder(DeviceOrderKind.LOCK))) == b""
    refused = host.seen[-1]
    assert isinstance(refused, OrderAnswered)
    assert (refused.accepted, refused.detail) == (False, LISTENS)


def test_a_listener_accepts_new_reports_and_records_the_gaps() -> None:
    """It accepts later reports immediately, and no copies. Before its first report, nothing counts as missed."""
    host = listener()
    assert kinds(host, report(7, theirs.Empty())) == ["ShoeEmptySeen"]
    assert kinds(host, report(8, theirs.Empty()), report(7, theirs.Empty())) == ["ShoeEmptySeen", "CopyHeard"]
    jumped, emptied = host.hears(report(11, theirs.Empty()))
    assert isinstance(jumped, SequenceJumped)
    assert isinstance(emptied, ShoeEmptySeen)
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
def test_after_an_absence_a_listener_learns_from_the_number_of_the_next_report(
    sequence: int, of: int, known: Continuity, lost: int
) -> None:
    """The successor of the last report proves that no report was missed. This is reported once."""
    host = listener(Intake(A, 9))
    host.take(LinkDown("pulled"))
    host.take(LinkUp(PORT))
    resumed, emptied = host.hears(report(sequence, theirs.Empty(), of=of))
    assert isinstance(resumed, Resumed)
    assert isinstance(emptied, ShoeEmptySeen)
    assert (resumed.continuity, resumed.missed_at_least) == (known, lost)
    assert kinds(host, report(sequence + 1, theirs.Empty(), of=of)) == ["ShoeEmptySeen"]


def test_a_listener_records_the_end_of_a_stream_on_an_open_line() -> None:
    """Reports between the two streams are lost, or may be lost."""
    host = listener(Intake(A, 9))
    resumed, _ = host.hears(report(1, theirs.Empty(), of=B))
    assert isinstance(resumed, Resumed)
    assert (resumed.continuity, resumed.missed_at_least) == (Continuity.UNKNOWN, 0)


def test_a_listener_identifies_a_device_once() -> None:
    """HELLO arrives only when the other host requests it. A HELLO of another stream may be from another device."""
    host = listener()
    assert kinds(host, report(1, theirs.Empty()), hello(upcoming=2), hello(upcoming=2)) == [
        "ShoeEmptySeen",
        "Identified",
    ]
    assert kinds(host, hello(of=B)) == ["Identified"]
    assert kinds(host, hello(role=OpenShoeRole.SHUFFLER)) == ["FrameRejected", "DoubtRaised"]
    host.take(LinkDown("pulled"))
    host.take(LinkUp(PORT))
    assert kinds(host, hello(upcoming=2)) == ["Identified"]


def test_a_listener_forgets_a_set_after_lost_reports() -> None:
    """The lost reports may have contained a new inventory."""
    host = listener(role="shuffler")
    host.hear(report(1, Inventory("A", COUNTS, 0)))
    host.hear(report(3, Delivered("A")))
    assert [each.counts for each in host.seen if isinstance(each, SetDeliverySeen)] == [{}]


# --- orders


def order(host: Host, kind: DeviceOrderKind, fault: int | None = None) -> bytes:
    return host.take(Ordered(DeviceOrder(kind, fault)))


def answers(host: Host) -> list[tuple[str, bool, str]]:
    return [(each.order, each.accepted, each.detail) for each in host.seen if isinstance(each, OrderAnswered)]


@pytest.mark.parametrize(
    ("kind", "fault", "text", "body"),
    [
        (DeviceOrderKind.LOCK, None, "lock", OpenShoeOrder(theirs.OrderKind.LOCK)),
        (DeviceOrderKind.UNLOCK, None, "unlock", OpenShoeOrder(theirs.OrderKind.UNLOCK)),
        (DeviceOrderKind.CLEAR_FAULT, 2, "clear-fault 2", OpenShoeOrder(theirs.OrderKind.CLEAR, 2)),
    ],
)
def test_an_order_is_sent_and_answered(
    kind: DeviceOrderKind, fault: int | None, text: str, body: OpenShoeOrder
) -> None:
    """Only the DONE with the kind and the number of the order answers it."""
    host = greeted(allow_orders=True)
    number = fault or 0
    assert asked(order(host, kind, fault)) == [body]
    other = next(each for each in theirs.OrderKind if each is not body.order)
    host.hear(build(OpenShoeNotice(1, Done(other, number, OpenShoeResult.DONE))))
    host.hear(build(OpenShoeNotice(1, Done(body.order, number, OpenShoeResult.DONE))))
    host.hear(build(OpenShoeNotice(1, Done(body.order, number, OpenShoeResult.DONE))))
    assert answers(host) == [("not ours", True, ""), (text, True, ""), ("not ours", True, "")]


@pytest.mark.parametrize("result", [each for each in OpenShoeResult if each is not OpenShoeResult.DONE])
def test_an_order_that_is_not_done_has_the_reason(result: OpenShoeResult) -> None:
    """The answer has the result: not now, unable, or failed."""
    host = greeted(allow_orders=True)
    order(host, DeviceOrderKind.LOCK)
    host.hear(build(OpenShoeNotice(1, Done(theirs.OrderKind.LOCK, 0, result))))
    assert answers(host) == [("lock", False, result.value)]


@pytest.mark.parametrize(
    ("kind", "fault", "word"),
    [
        (DeviceOrderKind.CONFIRM, None, "an Open Shoe has no process to confirm; omit the order"),
        (
            DeviceOrderKind.CLEAR_FAULT,
            None,
            "an Open Shoe clears a fault by its code, and no fault is known; clear the fault at the device",
        ),
        (DeviceOrderKind.CLEAR_FAULT, 256, "an Open Shoe has no fault 256; its faults are 0 to 255"),
        (DeviceOrderKind.CLEAR_FAULT, -1, "an Open Shoe has no fault -1; its faults are 0 to 255"),
    ],
)
def test_an_order_that_the_protocol_does_not_have_is_refused(
    kind: DeviceOrderKind, fault: int | None, word: str
) -> None:
    """No answer is expected after it."""
    host = greeted(allow_orders=True)
    assert order(host, kind, fault) == b""
    assert answers(host) == [(str(DeviceOrder(kind, fault)), False, word)]
    assert order(host, DeviceOrderKind.LOCK) != b""


def test_orders_need_hello_and_permission() -> None:
    """Before HELLO the device is not known; without allow_orders no order is sent."""
    host = Host(Clock(), allow_orders=True)
    assert order(host, DeviceOrderKind.LOCK) == b""
    host.take(LinkUp(PORT))
    assert order(host, DeviceOrderKind.LOCK) == b""
    assert order(greeted(), DeviceOrderKind.LOCK) == b""
    assert [detail for *_, detail in answers(host)] == [
        "the link is closed; connect the device, then repeat the order",
        "the device has not identified itself yet; wait for device/identified, then repeat the order",
    ]


def test_an_order_ends_with_its_time_limit_or_with_the_link() -> None:
    """The session sets a timer for the limit."""
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
