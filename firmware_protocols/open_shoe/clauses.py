"""The rules of PROTOCOL.md for a device, each with a name that does not change.

Theory of operation: a rule quotes the page; ` ... ` separates two quotes. `shoed conform` has a check for each
clause, or `untried` of the clause states why there is no check. `tests/open_shoe_remarks.py` quotes the other sentences
of the same sections. A test compares both with the page. A sentence of the page without a clause fails the test.
"""

from typing import Final, NamedTuple

from firmware_protocols.open_shoe.messages import OpenShoeRole


class ProtocolClause(NamedTuple):
    name: str
    rule: str  # quoted from the page
    untried: str = ""  # why there is no check
    since: int = 1  # the first version with this rule
    until: int = 255  # the last version with this rule
    role: OpenShoeRole | None = None  # the rule is only for this role
    keyed: bool = False  # the rule is only for a device with a key


HUMAN: Final = "only a person at the device sees the cards; compare the reports with the cards"

CLAUSES: Final = (
    # --- frames that the device receives
    ProtocolClause(
        "frame.escapes-read",
        "In the body, CRC included, each of the five bytes `7D` `7E` `7F` `11` `13` is sent as two bytes: `7D`, then "
        "the byte XOR `20`: `7D 5D`, `7D 5E`, `7D 5F`, `7D 31`, `7D 33`.",
    ),
    ProtocolClause(
        "frame.bad-escape",
        "A receiver must drop a frame with any other escape, or with an unescaped `11` or `13`.",
    ),
    ProtocolClause("frame.junk", "A `7E` begins a frame. A receiver ignores bytes outside a frame."),
    ProtocolClause(
        "frame.torn",
        "A `7E` inside a frame ends this frame as incomplete, and begins the next frame. A `7F` ends a frame.",
    ),
    ProtocolClause("frame.given-up", "If no byte arrives for 500 ms within a frame, a receiver discards the frame."),
    ProtocolClause(
        "frame.dropped",
        "A receiver drops a frame that is incomplete, is too long or has a wrong CRC, and sends no answer.",
    ),
    # --- frames that the device sends
    ProtocolClause(
        "frame.escapes",
        "In the body, CRC included, each of the five bytes `7D` `7E` `7F` `11` `13` is sent as two bytes: `7D`, then "
        "the byte XOR `20`: `7D 5D`, `7D 5E`, `7D 5F`, `7D 31`, `7D 33`. ... No other byte is escaped.",
    ),
    ProtocolClause(
        "frame.crc",
        "CRC-32 of IEEE 802.3 over all bytes from the version to the end of the payload, before escaping: "
        "polynomial `EDB88320` reflected, start `FFFFFFFF`, final XOR `FFFFFFFF`. The CRC of the nine "
        "characters `123456789` is `CBF43926`. The CRC is sent with its highest byte first.",
    ),
    ProtocolClause("frame.size", "A body has at most 512 bytes before escaping, and at least 8."),
    # --- versions
    ProtocolClause("version.known", "The first byte of every body is the version, 1, 2 or 3."),
    ProtocolClause("version.one", "A device sends one version, and does not change the version within a stream."),
    ProtocolClause(
        "version.understood",
        "A device without a key ... must accept the requests of version 1 and the requests of its own version.",
    ),
    ProtocolClause("version.unknown", "A device drops a request of a version that the device does not know."),
    # --- notices
    ProtocolClause("notice.number", "A notice has 0 in place of a report number."),
    ProtocolClause("notice.not-kept", "A device does not keep notices, and a host does not acknowledge notices."),
    ProtocolClause("hello.identify", "A device must send HELLO: ... on IDENTIFY,"),
    ProtocolClause("hello.next", "the number of the next new report"),
    ProtocolClause(
        "hello.oldest",
        "the number of the oldest kept report; equal to `next` if there is none",
    ),
    ProtocolClause(
        "hello.open",
        "A device must send HELLO: ... when a line opens (USB configured, TCP connected, DTR raised, if the device "
        "can detect it),",
    ),
    ProtocolClause("hello.power-up", "A device must send HELLO: ... at power-up,"),
    ProtocolClause("hello.first", "After power-up, a device sends no report before HELLO."),
    ProtocolClause("hello.stream", "A device must send HELLO: ... when a stream begins,"),
    ProtocolClause("alive.due", "A device must send ALIVE when it has sent no frame for 10 s."),
    ProtocolClause("alive.next", "the id of the stream ... as in HELLO"),
    # --- reports
    ProtocolClause("role.messages", "The tables mark each message that only a shoe or only a shuffler sends."),
    ProtocolClause("report.number", "A report has a number from 1 to 65535."),
    ProtocolClause(
        "report.fields",
        "All numbers are unsigned and big-endian. A text is one length byte (0 to 64), then this number of "
        "bytes of UTF-8. A text does not contain the control characters U+0000 to U+001F and U+007F to "
        "U+009F. ... In versions 1 and 2, the payload of every report begins with `stream` u32 and `clock` "
        "u64. ... The fields of the table follow.",
    ),
    ProtocolClause(
        "clock.microseconds",
        "The clock counts microseconds: in versions 1 and 2 from a moment that the device chooses, and in "
        "version 3 from power-up. The clock of a report is the moment of the reported fact, not of the "
        "transmission.",
    ),
    ProtocolClause(
        "clock.forward",
        "In versions 1 and 2, the clock must never go back within a stream ... Therefore, if the device makes"
        " another report between the leading edge of a card and the CARD, the CARD has the clock of that "
        "report.",
        until=2,
    ),
    ProtocolClause(
        "card.unread",
        "A card that the device saw and did not read is a CARD with `card` 0.",
        HUMAN,
        role=OpenShoeRole.SHOE,
    ),
    ProtocolClause(
        "card.once",
        "The device sends one CARD for each drawn card, after the trailing edge of the card has passed the sensor.",
        HUMAN,
        role=OpenShoeRole.SHOE,
    ),
    ProtocolClause(
        "card.cut",
        "The cut card causes CUT, and no CARD.",
        "only a person sees the cut card; draw the cut card, and compare the reports",
        role=OpenShoeRole.SHOE,
    ),
    ProtocolClause(
        "card.burnt",
        "`position` numbers the burn cards of a set from 1. The count continues when cards of the same set "
        "are burnt again, and starts again after the next LOADED. After 255, `position` stays 255.",
        role=OpenShoeRole.SHOE,
    ),
    ProtocolClause(
        "card.error",
        "A card has the place `error` if the device noticed a blocking fault before the leading edge of the card "
        "passed. An overdrawn card also has the place `error`: the device first reports the CARD, then FAULT 7.",
        HUMAN,
        role=OpenShoeRole.SHOE,
    ),
    ProtocolClause("card.position", "`position` is 0 ... `position` 1 to 3 ... `position` 0", role=OpenShoeRole.SHOE),
    ProtocolClause(
        "card.locked",
        "A card that leaves a locked shoe has the place `locked`, also while a fault is active.",
        role=OpenShoeRole.SHOE,
    ),
    ProtocolClause(
        "fault.clock",
        "The clock of a FAULT is the moment at which the device noticed the fault.",
        "only a person sees the beginning of a fault; compare the reports with the faults",
    ),
    ProtocolClause(
        "fault.once",
        "A device reports a fault once when the fault begins, and once when the fault ends. The second report"
        " has `blocking` 0.",
    ),
    ProtocolClause(
        "set.name",
        "LOADED reports a new set. EMPTY reports that no card is left in the shoe. The `set_id` of LOADED "
        "should be the `set_id` of the shuffler's DELIVERED, so that the two can be compared. If the `set_id`"
        " is not known, it is empty.",
        "only a person knows the set in the shoe",
        role=OpenShoeRole.SHOE,
    ),
    ProtocolClause(
        "set.order",
        "A shuffler reports for each set: RECOGNISED, SHUFFLING, SHUFFLED or FAILED, INVENTORY, DELIVERED, and any "
        "FAULT between them. INVENTORY may precede SHUFFLED.",
        role=OpenShoeRole.SHUFFLER,
    ),
    ProtocolClause(
        "set.cards",
        "CARDS is new: if the order of a set is known, the shuffler reports all parts of the order before DELIVERED, "
        "from the first place on; a part has at most 255 cards.",
        since=2,
        role=OpenShoeRole.SHUFFLER,
    ),
    # --- version 3
    ProtocolClause(
        "boot.named",
        "`boot` identifies the present power-up. ... `boot` identifies the power-up in which the device made the "
        "report.",
        since=3,
    ),
    ProtocolClause(
        "boot.counted",
        "A device whose memory survives without power counts its power-ups in that memory, and writes the count "
        "before it sends a frame; the count after 65535 is 0. A device without such a memory begins a new stream at "
        "each power-up, and draws `boot` at random.",
        since=3,
    ),
    ProtocolClause(
        "report.boot",
        "In version 3, the payload of every report begins with `stream` u32, `boot` u16 and `clock` u64.",
        since=3,
    ),
    ProtocolClause(
        "clock.power-up",
        "The clock counts from that power-up. The clock must never go back within a power-up; it need not survive one.",
        since=3,
    ),
    ProtocolClause(
        "clock.sent",
        "`clock_us` in HELLO and ALIVE is the clock at the moment when the device sends the frame.",
        since=3,
    ),
    ProtocolClause(
        "status.asked",
        "After INQUIRE, the device makes a new report, STATUS, with its whole state.",
        since=3,
    ),
    ProtocolClause(
        "status.once",
        "If the newest kept report is a STATUS of the present power-up, or if there is no room, the device makes no "
        "STATUS.",
        since=3,
    ),
    ProtocolClause(
        "status.full",
        "After a loss by a full memory, STATUS replaces LOCK and the FAULT reports of the active faults.",
        since=3,
    ),
    ProtocolClause("status.faults", "A STATUS contains at most 32 faults.", since=3),
    ProtocolClause(
        "set.named",
        "SHUFFLING, SHUFFLED and FAILED carry the `set_id` of their set.",
        since=3,
        role=OpenShoeRole.SHUFFLER,
    ),
    ProtocolClause(
        "vendor.types",
        "The types `50` to `5F` are reports, and `18` to `1F` are notices, that a maker may define in version 3. They "
        "must not carry a fact for which this page has a message.",
        "only the maker knows the content of such a message",
        since=3,
    ),
    # --- orders
    ProtocolClause("order.done", "A device answers an order with DONE within 3 s."),
    ProtocolClause("order.twice", "A second execution of the same order is harmless"),
    ProtocolClause("order.report", "The report of the change, LOCK or FAULT, may precede or follow DONE."),
    ProtocolClause(
        "order.unknown",
        "To an order that this page does not define, a device sends no answer, or DONE with that order and `unable`.",
    ),
    ProtocolClause(
        "request.readable",
        "A payload is not readable if it is longer or shorter than its fields, or if it has a value that this"
        " page does not define. A device drops a request that is not readable.",
    ),
    # --- streams and numbers
    ProtocolClause("number.unbroken", "A stream is one unbroken numbering of reports."),
    ProtocolClause("number.first", "The first report of a stream has the number 1"),
    ProtocolClause("number.wrap", "the number after 65535 is 1, never 0."),
    ProtocolClause("number.zero", "0 is not a number: a device drops an ACK or a RESEND of 0"),
    # --- kept and repeated reports
    ProtocolClause("keep.until-acknowledged", "A device must keep each report until the report is acknowledged."),
    ProtocolClause("keep.over-a-cut", "A device must keep each report until the report is acknowledged."),
    ProtocolClause("keep.in-a-flood", "A device must keep each report until the report is acknowledged."),
    ProtocolClause("keep.room", "A device must have room for at least 1,024 reports"),
    ProtocolClause("keep.most", "A device never keeps more than 16,384 reports"),
    ProtocolClause("window.size", "A device sends a report immediately if it keeps fewer than 32 older reports"),
    ProtocolClause("window.moves", "otherwise as soon as it keeps fewer than 32 older reports."),
    ProtocolClause(
        "repeat.due",
        "If no report is acknowledged for 500 ms, the device sends the window again, from the oldest report on.",
    ),
    ProtocolClause(
        "repeat.counted",
        "The 500 ms count from the latest of three moments: the oldest report was sent, a report was acknowledged, "
        "the window was repeated.",
    ),
    ProtocolClause("repeat.for-ever", "The device repeats the window without limit."),
    ProtocolClause("repeat.same", "A repeated report is identical, byte for byte, its clock included."),
    ProtocolClause("ack.forgets", "ACK of the present stream: the device deletes all reports up to `upto`."),
    ProtocolClause("ack.unknown", "If the device does not keep `upto`, it does nothing."),
    ProtocolClause("ack.other-stream", "ACK or RESEND of another stream: the device only sends HELLO."),
    ProtocolClause("resend.from", "RESEND of the present stream: the device sends up to 32 reports from `start` on."),
    ProtocolClause("resend.unknown", "If `start` is not in the window, the device sends HELLO."),
    ProtocolClause("resend.other-stream", "ACK or RESEND of another stream: the device only sends HELLO."),
    # --- the memory is full
    ProtocolClause("full.kept", "A device never deletes a kept report to make room for a newer report."),
    ProtocolClause(
        "full.lock",
        "A device whose memory is nearly full (16 free) should lock its exit, if it can. ... If the device itself "
        "locked the exit, the exit stays locked until people or an order unlock it.",
        "a recommendation; look at the exit while the memory fills",
    ),
    ProtocolClause(
        "full.dropped",
        "The device drops the first report for which there is no room, and from then on every new report, even if "
        "room becomes free: a gap inside a stream would not be visible.",
    ),
    ProtocolClause(
        "full.stream",
        "When all kept reports are acknowledged, the device must begin a new stream: HELLO, then as its first report "
        "FAULT 8 raised, then FAULT 8 cleared.",
    ),
    ProtocolClause(
        "full.state",
        "The changes of state in the meantime are lost, too. Therefore the device then reports LOCK with the state of "
        "the exit, and a FAULT for each active fault",
        role=OpenShoeRole.SHOE,
        until=2,
    ),
    # --- the power is cut
    ProtocolClause(
        "stream.lost",
        "A device must begin a new stream, with another id, whenever it has lost reports that were not acknowledged, "
        "or does not know the last number of its stream: at power-up, if the device has no memory that survives.",
    ),
    ProtocolClause(
        "stream.kept",
        "A device with a memory that survives continues: same stream, next number, and in versions 1 and 2 a clock "
        "that continues from the last stored clock.",
    ),
    ProtocolClause(
        "stream.written",
        "A device with a memory that survives must write a report, with its number, to this memory before it sends "
        "the first byte of the report.",
        "a check would have to cut the power between two bytes of a report",
    ),
    ProtocolClause("stream.id", "The id of a stream is a random number of 32 bits."),
    ProtocolClause(
        "stream.noise",
        "The id comes from a source of noise in the hardware. A device without such a source computes the id from its "
        "serial number and from a count of its power-ups that survives without power; never from the time since "
        "power-up, and never from a constant.",
        "the ids of a few streams prove no more than stream.id",
    ),
    # --- the secure channel
    ProtocolClause(
        "channel.sealed",
        "With a key, a device and a host send all frames of this page inside SEALED frames, in version 3.",
        since=3,
        keyed=True,
    ),
    ProtocolClause(
        "channel.refuses",
        "Both ends must drop every other frame, of any version, except CHALLENGE, RESPONSE and UNKEYED.",
        since=3,
        keyed=True,
    ),
    ProtocolClause("channel.proof", "The device answers CHALLENGE with RESPONSE.", since=3, keyed=True),
    ProtocolClause(
        "channel.again",
        "To the nonce of the established session, and to the nonce of the newest CHALLENGE, the device repeats the "
        "same RESPONSE, which restarts no counter. To every other nonce, the device draws a new nonce from a source "
        "of noise; a device without such a source cannot have a key.",
        since=3,
        keyed=True,
    ),
    ProtocolClause(
        "channel.false-challenge",
        "The first frame of the new session that the device can open establishes the new session. Until then,"
        " the previous session continues, so that a false CHALLENGE does not end a session.",
        since=3,
        keyed=True,
    ),
    ProtocolClause(
        "channel.hello",
        "The device must send HELLO when a session is established.",
        since=3,
        keyed=True,
    ),
    ProtocolClause(
        "channel.unkeyed",
        "UNKEYED means that the device has no session. A device must send UNKEYED at power-up and when a line opens, "
        "instead of HELLO, and in answer to a frame that the device drops while no session is established or whose "
        "tag is wrong: at most once in a second. While no session is established, UNKEYED also replaces ALIVE.",
        since=3,
        keyed=True,
    ),
    ProtocolClause(
        "channel.counts",
        "Each end counts its sealed frames in each session: the first has the counter 1. A receiver opens a frame "
        "only if its counter is higher than the counter of the last opened frame of that session",
        since=3,
        keyed=True,
    ),
    ProtocolClause(
        "channel.inside",
        "The inner body has version 3, also the body of a request. The inner body is not a message of the channel "
        "itself, and has at most 492 bytes.",
        since=3,
        keyed=True,
    ),
)
