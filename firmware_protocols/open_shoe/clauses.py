"""The rules of PROTOCOL.md that bind a device, each under a name that does not change.

Theory of operation: a rule quotes the page; ` ... ` stands between two quotes. `shoed conform` has a check for each
clause, or the clause says here why it has none. REMARKS quotes the rest of the same sections: explanations, and rules
that bind a host. A test compares both with the page, so that a sentence of the page without a clause is visible.
"""

from typing import Final, NamedTuple

from firmware_protocols.open_shoe.messages import Role

# The parts of the page that say what a device does, by their headings.
SECTIONS: Final = (
    "Frames",
    "Versions",
    "What a device says",
    "Notices",
    "Reports",
    "What version 2 adds",
    "What a host says",
    "Streams and numbers",
    "The device",
    "When the memory is full",
)


class Clause(NamedTuple):
    name: str
    rule: str  # as the page has it
    untried: str = ""  # why no check tries it
    since: int = 1  # the first version that has it
    role: Role | None = None  # of which alone it is


HUMAN: Final = "only a person sees it at the device; compare the reports with the cards"

CLAUSES: Final = (
    # --- frames that the device reads
    Clause(
        "frame.escapes-read",
        "In the body, CRC included, the five bytes `7D` `7E` `7F` `11` `13` each become two: `7D`, and the byte XOR "
        "`20`: `7D 5D`, `7D 5E`, `7D 5F`, `7D 31`, `7D 33`.",
    ),
    Clause(
        "frame.bad-escape",
        "A receiver must drop a frame with another escape, or with a bare `11` or `13`; a bare `7E` or `7F` is a mark.",
    ),
    Clause("frame.junk", "Bytes before a `7E` are junk."),
    Clause("frame.torn", "A `7E` inside a frame tears it and begins the next. A `7F` ends it."),
    Clause("frame.given-up", "A frame in which nothing comes for 500 ms is given up."),
    Clause("frame.dropped", "A frame that is torn, too long or of a wrong CRC is dropped, without an answer."),
    # --- frames that the device writes
    Clause(
        "frame.escapes",
        "In the body, CRC included, the five bytes `7D` `7E` `7F` `11` `13` each become two ... "
        "No other byte is escaped.",
    ),
    Clause(
        "frame.crc",
        "CRC-32 of IEEE 802.3 over version to payload, before escaping: polynomial `EDB88320` reflected, start "
        "`FFFFFFFF`, final XOR `FFFFFFFF`. Of the nine characters `123456789` it is `CBF43926`. It goes out with its "
        "highest byte first.",
    ),
    Clause("frame.size", "A body has at most 512 bytes before escaping, and at least 8."),
    # --- versions
    Clause("version.known", "The first byte of every body is the version, 1 or 2."),
    Clause("version.one", "A device speaks one version, and does not change it within a stream."),
    Clause(
        "version.understood",
        "It must understand the requests of version 1, whatever it speaks, and those of its own.",
    ),
    Clause("version.unknown", "A device drops a request of a version that it does not know."),
    # --- notices
    Clause("notice.number", "Their number is 0."),
    Clause("notice.not-kept", "They are not kept and not acknowledged."),
    Clause("hello.identify", "HELLO must be said ... on IDENTIFY"),
    Clause("hello.next", "the number that the next new report will carry"),
    Clause("hello.oldest", "the oldest report not acknowledged; `next`, if all are"),
    Clause(
        "hello.open",
        "HELLO must be said ... when a line opens (USB configured, TCP connected, DTR raised, where the device can "
        "see it)",
    ),
    Clause("hello.power-up", "HELLO must be said at power-up"),
    Clause("hello.first", "after power-up no report comes before it."),
    Clause("hello.stream", "HELLO must be said ... when a stream begins"),
    Clause("alive.due", "ALIVE must be said when no frame was for 10 s"),
    Clause("alive.next", "the numbering that is meant ... as in HELLO"),
    # --- reports
    Clause("role.messages", "What is only of a shoe or of a shuffler says so."),
    Clause("report.number", "They carry a number from 1 to 65535."),
    Clause(
        "report.fields",
        "Every payload begins with `stream` u32 and `clock` u64; the fields of the table follow. ... All numbers are "
        "unsigned and big-endian. A text is one byte of length and that many bytes of UTF-8, at most 64, printable.",
    ),
    Clause(
        "clock.microseconds",
        "The clock is in microseconds from any moment that the device chooses. It is the moment of what is reported, "
        "not of the sending,",
    ),
    Clause(
        "clock.forward",
        "and it must never go back within a stream: a card whose leading edge passed before a report that has been "
        "said since carries that one's clock.",
    ),
    Clause(
        "card.unread",
        "A card that was seen and not read is a CARD with `card` 0, never a fault alone",
        HUMAN,
        role=Role.SHOE,
    ),
    Clause("card.once", "A drawn card gives one CARD, when its trailing edge has passed.", HUMAN, role=Role.SHOE),
    Clause("card.position", "`position` is 0 ... `position` 1 to 3 ... `position` 0", role=Role.SHOE),
    Clause("card.locked", "What leaves a locked shoe is `locked`, whatever fault stands.", role=Role.SHOE),
    Clause("fault.once", "A fault that comes is reported once, and once when it goes, then with `blocking` 0."),
    Clause(
        "set.name",
        "LOADED and EMPTY tell the host about a new set; the `set_id` of LOADED should be the one that the shuffler "
        "gave in DELIVERED, so that the two can be compared; where nobody knows it, it is empty.",
        "only a person knows which set is in the shoe",
        role=Role.SHOE,
    ),
    Clause(
        "set.order",
        "A shuffler says, of each set: RECOGNISED, SHUFFLING, SHUFFLED or FAILED, INVENTORY, DELIVERED, and any FAULT "
        "between them. INVENTORY may come before SHUFFLED.",
        role=Role.SHUFFLER,
    ),
    Clause(
        "set.cards",
        "CARDS is new: where the order of a set is known, all its parts come before its DELIVERED, from the first "
        "place on; a part has at most 255 cards.",
        since=2,
        role=Role.SHUFFLER,
    ),
    # --- orders
    Clause("order.done", "An order is answered by DONE within 3 s"),
    Clause("order.twice", "doing it twice is harmless"),
    Clause("order.report", "The report of what it changed, LOCK or FAULT, may come before DONE or behind it."),
    Clause("order.unknown", "To an order that is none of these a device says nothing, or `unable`."),
    # --- streams and numbers
    Clause("number.unbroken", "A stream is one unbroken numbering of reports."),
    Clause("number.first", "Its first report has the number 1"),
    Clause("number.wrap", "after 65535 comes 1 again, never 0."),
    Clause("number.zero", "0 is no number: an ACK or a RESEND of it means nothing"),
    # --- what the device keeps and sends again
    Clause("keep.until-acknowledged", "It must keep each report until it is acknowledged"),
    Clause("keep.over-a-cut", "It must keep each report until it is acknowledged"),
    Clause("keep.in-a-flood", "It must keep each report until it is acknowledged"),
    Clause("keep.room", "and have room for 1,024 of them at least"),
    Clause("keep.most", "A device never holds more than 16,384 reports"),
    Clause("window.size", "It sends a report at once, if fewer than 32 older ones are kept"),
    Clause("window.moves", "else as soon as that is so."),
    Clause("repeat.due", "If nothing is acknowledged for 500 ms, it sends the window again, from the oldest on"),
    Clause(
        "repeat.counted",
        "counted from when its oldest went out, something was acknowledged, or it was last said again.",
    ),
    Clause("repeat.for-ever", "It goes on doing so for ever; a line that nobody hears costs nothing."),
    Clause("repeat.same", "A report sent again is the same, byte for byte, its clock included."),
    Clause("ack.forgets", "ACK of the present stream: it forgets all reports up to `upto`."),
    Clause("ack.unknown", "If `upto` is not among those that it keeps, it does nothing."),
    Clause("ack.other-stream", "ACK or RESEND of another stream: it does nothing but say HELLO."),
    Clause("resend.from", "RESEND of the present stream: it sends up to 32 reports from `start` on."),
    Clause("resend.unknown", "If `start` is not among those that it keeps, it says HELLO."),
    Clause("resend.other-stream", "ACK or RESEND of another stream: it does nothing but say HELLO."),
    # --- the memory is full
    Clause("full.kept", "What is kept is never thrown away for something newer."),
    Clause(
        "full.lock",
        "A device whose memory is nearly full (16 free) should lock its exit, if it can. ... An exit that it locked "
        "itself it leaves locked, until people or an order unlock it.",
        "a recommendation; look at the exit while the memory fills",
    ),
    Clause(
        "full.dropped",
        "The first report that finds no room is dropped, and from then on every new one, though room may come: a gap "
        "inside a stream would not be seen.",
    ),
    Clause(
        "full.stream",
        "Once everything that it keeps has been acknowledged, the device must begin a new stream: HELLO, then as its "
        "first report FAULT 8 raised, then FAULT 8 cleared.",
    ),
    Clause(
        "full.state",
        "What changed meanwhile was lost with it: behind them come LOCK, as the exit stands, and each fault that "
        "stands.",
        role=Role.SHOE,
    ),
    # --- the power is cut
    Clause(
        "stream.lost",
        "A device must begin a new stream, with another id, whenever it has lost reports that were not acknowledged, "
        "or does not know where its numbering stood: at power-up, if it has no memory that survives.",
    ),
    Clause(
        "stream.kept",
        "If it has one, it goes on: same stream, next number, and a clock that continues from the last one it wrote "
        "down.",
    ),
    Clause("stream.id", "Its id is a random number of 32 bits."),
)

REMARKS: Final = (
    "Both ends say the same frames:",
    "Escapes.",
    "(`11` and `13` are XON and XOFF, which some adapters keep for themselves.)",
    "CRC.",
    "Finding a frame.",
    "Frames, escapes, CRC and the place of the version are the same in every version that there will ever be.",
    "Nothing is negotiated: each frame can be read by itself.",
    "A host speaks the version that it last heard from the device; before it has heard one, version 1.",
    "Version 2 is version 1 and [what it adds](#what-version-2-adds).",
    "Requests and notices are the same in both.",
    (
        "Another version is refused: a host takes nothing from such a frame, acknowledges nothing, and tells "
        "people which version it was."
    ),
    "The device then keeps its reports, and no card is lost, until one of the two is changed.",
    "Never assume that the layout is the nearest one.",
    "The CRC is looked at before the version: a damaged frame is not an unknown version.",
    "A message is a report or a notice.",
    "and on an ACK or a RESEND that does not fit ([below](#the-device));",
    ": a host takes 30 s of silence for a device that is gone, which three lost ALIVEs in a row make.",
    ": a host counts no card by a fault.",
    "A foreign card is none of the set's, whatever face it has; which one it stands for, people say.",
    (
        "Where a shoe cannot measure `passage_us`, only leading edges tell cards that were drawn together, so "
        "that fewer of them are found."
    ),
    "Which cards are missing or too many is the host's to find: it knows how many decks there should be.",
    "CARD takes the place of that of version 1: it has two fields more.",
    ", so that a host may repeat one whose answer was lost.",
    (
        "A stream id that is not random, and a memory that is set back to an older state, give numbers a second "
        "meaning: the device numbers its reports again under the same stream."
    ),
    "That breaks the rule above.",
    (
        "A host finds it all the same, by [the rules below](#the-host): it records a gap, and takes every report that "
        "the device still keeps."
    ),
    ", so that numbers can be compared although they wrap.",
    "From number `a` to number `b` it is `(b - a) mod 65535` steps",
    "`b` is *due or later* if that is less than 32768, and *earlier* otherwise.",
    "Examples: from 65535 to 1 is 1 step; from 2 to 65535 is 65533 steps, so that 65535 is earlier than 2.",
    ": two shoes of eight decks.",
    "32 is the *window*: 1 KB, or 90 ms of the line, which is what one lost frame costs.",
    "500 ms is ten commits of a slow disk.",
    "So the loss has its place: between the last report of the old stream and the first of the new.",
)
