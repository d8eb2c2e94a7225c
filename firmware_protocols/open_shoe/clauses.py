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
    "What version 3 adds",
    "Capabilities",
    "What a host says",
    "Streams and numbers",
    "The device",
    "When the memory is full",
    "The secure channel",
    "A session",
    "A sealed frame",
)


class Clause(NamedTuple):
    name: str
    rule: str  # as the page has it
    untried: str = ""  # why no check tries it
    since: int = 1  # the first version that has it
    until: int = 255  # the last one
    role: Role | None = None  # of which alone it is
    keyed: bool = False  # only of a device with a key


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
    Clause("version.known", "The first byte of every body is the version, 1, 2 or 3."),
    Clause("version.one", "A device speaks one version, and does not change it within a stream."),
    Clause(
        "version.understood",
        "Without a key, it must understand the requests of version 1, whatever it speaks, and those of its own.",
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
    Clause("alive.due", "ALIVE must be said when the device has sent no frame for 10 s"),
    Clause("alive.next", "the numbering that is meant ... as in HELLO"),
    # --- reports
    Clause("role.messages", "What is only of a shoe or of a shuffler says so."),
    Clause("report.number", "They carry a number from 1 to 65535."),
    Clause(
        "report.fields",
        "Every payload begins with `stream` u32 and `clock` u64; the fields of the table follow. ... All numbers are "
        "unsigned and big-endian. A text is one byte of length and that many bytes of UTF-8, at most 64, without the "
        "control characters U+0000 to U+001F and U+007F to U+009F.",
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
        until=2,
    ),
    Clause(
        "card.unread",
        "A card that was seen and not read is a CARD with `card` 0, never a fault alone",
        HUMAN,
        role=Role.SHOE,
    ),
    Clause("card.once", "A drawn card gives one CARD, when its trailing edge has passed.", HUMAN, role=Role.SHOE),
    Clause(
        "card.cut",
        "The cutting card gives CUT, and no CARD.",
        "only a person sees the cutting card; draw it, and compare the reports",
        role=Role.SHOE,
    ),
    Clause(
        "card.burnt",
        "The `position` of a burnt card counts from 1 after LOADED and goes on until the next LOADED, over every "
        "burning of the set; after 255 it stays 255.",
        role=Role.SHOE,
    ),
    Clause(
        "card.error",
        "A card has the place `error` if a blocking fault was noticed before its leading edge passed. An overdrawn "
        "card has the place `error`, too: first its CARD is reported, then FAULT 7.",
        HUMAN,
        role=Role.SHOE,
    ),
    Clause("card.position", "`position` is 0 ... `position` 1 to 3 ... `position` 0", role=Role.SHOE),
    Clause("card.locked", "What leaves a locked shoe is `locked`, whatever fault stands.", role=Role.SHOE),
    Clause(
        "fault.clock",
        "The clock of a FAULT is the moment at which the device noticed the fault.",
        "only a person sees when a fault comes; compare the reports with the faults",
    ),
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
    # --- version 3
    Clause(
        "boot.named",
        "`boot` names the present power-up. ... `boot` names the power-up in which the report was made.",
        since=3,
    ),
    Clause(
        "boot.counted",
        "A device whose memory survives without power counts its power-ups there, and writes the count before it sends "
        "a frame; after 65535 comes 0. A device without such a memory begins a new stream at each power-up, and draws "
        "`boot` at random.",
        since=3,
    ),
    Clause(
        "report.boot",
        "In version 3, every payload begins with `stream` u32, `boot` u16 and `clock` u64.",
        since=3,
    ),
    Clause(
        "clock.power-up",
        "The clock counts from that power-up. It must never go back within a power-up; it need not survive one.",
        since=3,
    ),
    Clause(
        "clock.sent",
        "`clock_us` in HELLO and ALIVE is the clock at the moment when the frame is sent.",
        since=3,
    ),
    Clause(
        "status.asked",
        "After INQUIRE the device makes a new report, STATUS, with its whole state.",
        since=3,
    ),
    Clause(
        "status.once",
        "If the newest report that it keeps is a STATUS of the present power-up, or if there is no room, it makes "
        "none.",
        since=3,
    ),
    Clause(
        "status.full",
        "After a loss by a full memory, STATUS takes the place of LOCK and of the faults that stand.",
        since=3,
    ),
    Clause("status.faults", "A STATUS names at most 32 faults.", since=3),
    Clause("set.named", "SHUFFLING, SHUFFLED and FAILED name their set.", since=3, role=Role.SHUFFLER),
    Clause(
        "vendor.types",
        "The types `50` to `5F` are reports, and `18` to `1F` are notices, that a maker may use in version 3 as it "
        "likes. They must not carry what this page has a message for.",
        "only the maker knows what such a message carries",
        since=3,
    ),
    # --- orders
    Clause("order.done", "An order is answered by DONE within 3 s"),
    Clause("order.twice", "doing it twice is harmless"),
    Clause("order.report", "The report of what it changed, LOCK or FAULT, may come before DONE or behind it."),
    Clause(
        "order.unknown",
        "To an order that is none of these a device says nothing, or DONE with that order and `unable`.",
    ),
    Clause(
        "request.readable",
        "A payload that is longer or shorter than its fields, or that has a value which this page does not give, is "
        "not readable: a device drops such a request",
    ),
    # --- streams and numbers
    Clause("number.unbroken", "A stream is one unbroken numbering of reports."),
    Clause("number.first", "Its first report has the number 1"),
    Clause("number.wrap", "after 65535 comes 1 again, never 0."),
    Clause("number.zero", "0 is no number: an ACK or a RESEND of it is dropped"),
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
    Clause("resend.unknown", "If `start` is not in the window, it says HELLO."),
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
        "stands",
        role=Role.SHOE,
        until=2,
    ),
    # --- the power is cut
    Clause(
        "stream.lost",
        "A device must begin a new stream, with another id, whenever it has lost reports that were not acknowledged, "
        "or does not know where its numbering stood: at power-up, if it has no memory that survives.",
    ),
    Clause(
        "stream.kept",
        "If it has one, it goes on: same stream, next number, and in versions 1 and 2 a clock that continues from the "
        "last one it wrote down.",
    ),
    Clause(
        "stream.written",
        "It must write a report, with its number, to that memory before it sends the first byte of it.",
        "the power would have to fail between two bytes of a report",
    ),
    Clause("stream.id", "Its id is a random number of 32 bits."),
    Clause(
        "stream.noise",
        "It comes from a source of noise in the hardware. A device without one makes it from its serial number and a "
        "count of its power-ups that survives without power; never from the time since power-up, and never from a "
        "constant.",
        "the ids of a few streams show no more than stream.id has",
    ),
    # --- the secure channel
    Clause(
        "channel.sealed",
        "With a key, a device and a host say all frames of this page inside SEALED frames, in version 3.",
        since=3,
        keyed=True,
    ),
    Clause(
        "channel.refuses",
        "They must drop every other frame, of any version, except CHALLENGE, RESPONSE and UNKEYED",
        since=3,
        keyed=True,
    ),
    Clause("channel.proof", "The device answers CHALLENGE with RESPONSE.", since=3, keyed=True),
    Clause(
        "channel.again",
        "To the nonce of the session that stands, and to that of the newest CHALLENGE, it says the same RESPONSE "
        "again, which begins no counter again. To every other nonce it draws a new nonce from a source of noise; a "
        "device without one cannot have a key.",
        since=3,
        keyed=True,
    ),
    Clause(
        "channel.false-challenge",
        "The new session stands from its first frame that the device can open. Until then the session before it goes "
        "on, so that a false CHALLENGE ends nothing.",
        since=3,
        keyed=True,
    ),
    Clause(
        "channel.hello",
        "The device must say HELLO when a session begins to stand.",
        since=3,
        keyed=True,
    ),
    Clause(
        "channel.unkeyed",
        "UNKEYED says that the device has no session. It must be said at power-up and when a line opens, in the "
        "place of HELLO, and in answer to a frame that it drops while no session stands or whose tag is wrong: at "
        "most once in a second. While no session stands, it takes the place of ALIVE, too.",
        since=3,
        keyed=True,
    ),
    Clause(
        "channel.counts",
        "Each end counts its sealed frames in each session: the first has the counter 1. A receiver opens a frame only "
        "if its counter is higher than that of the frame that it opened last in that session",
        since=3,
        keyed=True,
    ),
    Clause(
        "channel.inside",
        "The inner body has version 3, a request, too; it is none of the channel's own, and has at most 492 bytes.",
        since=3,
        keyed=True,
    ),
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
    (
        "Version 2 is version 1 and [what it adds](#what-version-2-adds); version 3 is version 2 and [what it "
        "adds](#what-version-3-adds). A new device should speak version 3."
    ),
    (
        "Another version is refused: a host takes nothing from such a frame, acknowledges nothing, and tells "
        "people which version it was."
    ),
    "The device then keeps its reports, and no card is lost, until one of the two is changed.",
    "Never assume that the layout is the nearest one.",
    "The CRC is looked at before the version: a damaged frame is not an unknown version.",
    "A message is a report or a notice.",
    "and on an ACK or a RESEND of another stream or a RESEND that does not fit ([below](#the-device));",
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
    "Another one is dropped, and its frame counts as opened.",
    "32 is the *window*: 1 KB, or 90 ms of the line, which is what one lost frame costs.",
    "500 ms is ten commits of a slow disk.",
    "So the loss has its place: between the last report of the old stream and the first of the new.",
    ", and [the host](#the-host) has a rule for such a report.",
    (
        "Version 3 tells a host when each card was drawn, in which state the device is, and whether it was restarted. "
        "It also allows [a secure channel](#the-secure-channel)."
    ),
    "Power-ups.",
    "Reports.",
    "Moments.",
    "With it a host knows the moment of each report of the same power-up.",
    "State.",
    "Sets. A shuffler with two chambers works at two sets at once.",
    "Types for makers.",
    "A host takes and acknowledges such a report, and drops such a notice.",
    "INQUIRE and CHALLENGE are of [version 3](#what-version-3-adds) alone.",
    "; in version 3, STATUS.",
    (
        "Whoever can write on the line can acknowledge reports, unlock the exit and invent cards. In version 3 a key "
        "prevents this: 16 random bytes that only the device and its host have. Every device has a key of its own. "
        "How the key gets into the device is left to its maker; the device never says it."
    ),
    (
        ", and a host tells people about each frame that it drops while a session stands, and before that why none "
        "does. Nothing is negotiated, so nobody on the line can switch the channel off."
    ),
    (
        "Both ends compute three values of 16 bytes with AES-CMAC (RFC 4493) and the key, over one byte and the two "
        "nonces:"
    ),
    (
        "The host says CHALLENGE when the line opens, and again every second, with the same nonce, until a RESPONSE "
        "with the right proof comes. For each session it draws a new nonce from a source of noise. A wrong proof means "
        "another key: the RESPONSE is dropped, and people are told."
    ),
    (
        "The host then begins a session, at most one in a second; its session before goes on until the first frame of "
        "the new one comes. In a new session it says IDENTIFY, again every second, until that frame comes. It also "
        "begins one when it has heard nothing for 30 s. A frame of its newest session that it opens after UNKEYED "
        "shows that the UNKEYED was false."
    ),
    (
        "A session ends with the line, with the power, and once a `counter` of either end is 4294967295: from "
        "2147483648 on, the host begins a new session. Each line begins without a session, and the host draws a new "
        "nonce for it. A RESPONSE that is said again begins nothing. While no session stands, reports are kept and not "
        "sent. A device whose key is damaged says nothing but UNKEYED, and a host with a key never goes on without it."
    ),
    "SEALED carries one body, from its version to its payload, without its CRC:",
    (
        ": a frame that was recorded and is sent again is dropped. A gap between counters means nothing; lost frames "
        "leave one."
    ),
    (
        "A report that is sent again is the same inside. Outside it has a new counter. Wherever this page compares "
        "reports, it means the CRC of the inner body."
    ),
    (
        "What the channel does not prevent. An attacker on the line can cut it, send noise, and disturb the "
        "beginning of sessions by false CHALLENGEs and UNKEYEDs: people are told of each. He can hold frames back "
        "and let them through later, in their order; an order that is held back is then obeyed late. He sees when "
        "frames go, and how long they are. Who gets the key can open what was recorded. With a key there is no "
        "second host that listens. On TCP, a device should give a new connection the place of the one before only "
        "when a session stands on it."
    ),
)
