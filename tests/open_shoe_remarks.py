"""The sentences of PROTOCOL.md that are not a clause: explanations, and rules for a host.

They belong to the sections with rules for a device. `clauses` quotes all other sentences of these sections.
"""

from typing import Final

# The sections of the page with rules for a device, by their headings.
SECTIONS: Final = (
    "Frames",
    "Versions",
    "Messages of a device",
    "Notices",
    "Reports",
    "Additions of version 2",
    "Additions of version 3",
    "Capabilities",
    "Messages of a host",
    "Streams and numbers",
    "The device",
    "When the memory is full",
    "The secure channel",
    "A session",
    "A sealed frame",
)

REMARKS: Final = (
    "Both ends send frames of the same form:",
    "Escapes.",
    "(`11` and `13` are XON and XOFF, which some adapters do not pass on.)",
    "CRC.",
    "Start and end of a frame.",
    (
        "Frames, escapes, CRC and the position of the version are the same in every version, also in all future "
        "versions."
    ),
    "Each frame states its version. The two ends do not negotiate a version.",
    (
        "A host sends the version of the last frame from the device. Before the first frame from the device, the host "
        "sends version 1."
    ),
    (
        "Version 2 is version 1 with [additions](#additions-of-version-2). Version 3 is version 2 with "
        "[additions](#additions-of-version-3). A new device should send version 3."
    ),
    (
        "A host refuses any other version: the host accepts nothing from such a frame, acknowledges nothing, "
        "and reports the version to people. The device then keeps its reports, up to the limit of its memory."
        " After an update of the host, the host receives the kept reports. Never assume the most similar "
        "layout."
    ),
    ("A receiver checks the CRC first, so that it does not treat a damaged frame as a frame of an unknown version."),
    "A message is a report or a notice.",
    "(see [the secure channel](#the-secure-channel))",
    "; in version 3, within a power-up.",
    ("Example: the leading edge is at 100, LOCK is at 150, and the CARD is sent at 180. The clock of the CARD is 150."),
    (
        "on an ACK or a RESEND of another stream, and on a RESEND of a number outside the [window of "
        "reports](#the-device)."
    ),
    "A host treats a device as disconnected after 30 s of silence, that is, after three lost ALIVEs in a row.",
    "A FAULT alone is not sufficient, because a host counts cards by CARD only.",
    (
        "The code of a foreign card does not belong to the set. The host does not use the face in a CARD with"
        " the bit `foreign`. A person decides whether the card is a misread card of the set or a foreign "
        "card."
    ),
    ("Without `passage_us`, a host detects fewer of the cards that were drawn together."),
    "A host records a report that is not readable, and [accepts its number](#the-host).",
    "The host finds missing and surplus cards, because the host knows the number of decks.",
    "CARD of version 2 replaces CARD of version 1 and has two more fields.",
    (
        "Version 3 informs a host of the moment of each card, of the state of the device and of each restart of the "
        "device. Version 3 also allows [a secure channel](#the-secure-channel)."
    ),
    "Power-ups.",
    "Reports.",
    "Moments.",
    "From `clock_us`, a host computes the moment of each report of the same power-up.",
    "State.",
    "Sets. A shuffler with two chambers processes two sets at the same time.",
    "Types for makers.",
    "A host accepts and acknowledges such a report, and drops such a notice.",
    (
        "A request has 0 in place of a report number. INQUIRE and CHALLENGE exist only in [version "
        "3](#additions-of-version-3)."
    ),
    ", so that a host may repeat an order whose answer was lost.",
    (
        "If a stream id is not random, or if a memory is reset to an older state, one number can mean two reports: "
        "the device reuses numbers under the same stream. That violates the rule above. A host detects the reuse by "
        "[the rules below](#the-host): the host records a gap, and accepts every report that the device still keeps."
    ),
    (
        ", so that numbers can be compared although they start again at 1. From number `a` to number `b` "
        "there are `(b - a) mod 65535` steps ("
    ),
    (
        "). `b` is *due or later* if the number of steps is less than 32768, and *earlier* otherwise. Examples: from "
        "65535 to 1 is 1 step; from 2 to 65535 is 65533 steps, so that 65535 is earlier than 2."
    ),
    ": two shoes of eight decks.",
    (
        "The first 32 kept reports are the *window*: 1 KB, or 90 ms of the line. After one lost frame, the "
        "device repeats at most one window."
    ),
    "500 ms is the time of ten commits on a slow disk.",
    (
        "So the position of the loss is known: between the last report of the old stream and the first report of the "
        "new stream."
    ),
    "; in version 3, STATUS.",
    (
        "An attacker who can write on the line can acknowledge reports, unlock the exit and invent cards. In version "
        "3, a key prevents this: 16 random bytes that only the device and its host have. Every device has a key of "
        "its own. The maker decides how the device receives the key. The device never sends the key."
    ),
    (
        "During a session, a host reports each dropped frame to people. Before a session, a host reports to people "
        "why there is no session. There is no negotiation, so that an attacker on the line cannot switch off the "
        "channel."
    ),
    (
        "Both ends compute three values of 16 bytes with AES-CMAC (RFC 4493) and the key, over one byte and the two "
        "nonces:"
    ),
    (
        "The host sends CHALLENGE when the line opens, and again every second, with the same nonce, until a "
        "RESPONSE with the correct proof arrives. For each session, the host draws a new nonce from a source "
        "of noise. A wrong proof means another key: the host drops the RESPONSE, and reports the wrong proof "
        "to people."
    ),
    (
        "The host then begins a session, at most one in a second. The previous session continues until the first "
        "frame of the new session arrives. In a new session, the host sends IDENTIFY, again every second, until that "
        "frame arrives. The host also begins a session when it has received nothing for 30 s. A frame of the newest "
        "session that the host opens after UNKEYED shows that the UNKEYED was false."
    ),
    (
        "A session ends with the line, with the power, and when a `counter` of either end is 4294967295. From"
        " 2147483648 on, the host begins a new session. Each line begins without a session, and the host "
        "draws a new nonce for the line. A repeated RESPONSE does not begin a session."
    ),
    (
        "While no session is established, the device keeps its reports and does not send them. A device whose key is "
        "damaged sends only UNKEYED, and a host with a key never continues without the key."
    ),
    "SEALED carries one body, from its version to its payload, without its CRC:",
    (
        ": a receiver drops a frame that was recorded and sent again. A gap between counters has no meaning, "
        "because lost frames cause gaps."
    ),
    (
        "A repeated report has the same inner body and a new counter. Wherever this page compares reports, it"
        " means the CRC of the inner body."
    ),
    "A receiver drops any other inner body, and counts its frame as opened.",
    (
        "The channel does not prevent everything. An attacker on the line can cut the line, send noise, and disturb "
        "the start of sessions by false CHALLENGEs and UNKEYEDs: the host reports each of these to people. An "
        "attacker can delay frames and pass them on later, in their order; the device then executes a delayed order "
        "late. An attacker sees the time and the length of each frame. An attacker who obtains the key can open "
        "recorded frames. With a key, a second host cannot listen. On TCP, a device should replace the previous "
        "connection by a new connection only when a session is established on the new one."
    ),
)
