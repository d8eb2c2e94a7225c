"""The table of checks, and the run of all of them: one result for each clause of the page.

A clause of this table is tried by its check. A clause of WATCHED is judged by every frame that comes, and by the check
beside it, if there is one. Any other clause says itself why it is not tried. A later version of the protocol adds its
clauses to the page's, and their checks here.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from enum import Enum
from typing import Final, NamedTuple

from firmware_protocols.open_shoe.clauses import CLAUSES, Clause
from shoed.conform import checks_channel as channel
from shoed.conform import checks_line as line
from shoed.conform import checks_reports as reports
from shoed.conform import checks_streams as streams
from shoed.conform import checks_version_3 as version_3
from shoed.conform.host import Broken, Host, NoHello, Stuck, Untried
from shoed.conform.line import Gone
from shoed.conform.watch import Passed


class Check(NamedTuple):
    run: Callable[[Host], None]
    seconds: float = 5.0  # that it takes at most, where nobody has to be waited for


CHECKS: Final[Mapping[str, Check]] = {
    "hello.identify": Check(line.says_hello),
    "frame.escapes-read": Check(line.reads_escapes),
    "frame.bad-escape": Check(line.drops_bad_escapes),
    "frame.junk": Check(line.skips_junk),
    "frame.torn": Check(line.skips_torn_frames),
    "frame.given-up": Check(line.gives_up_frames),
    "frame.dropped": Check(line.drops_damage),
    "version.understood": Check(line.understands_versions),
    "version.unknown": Check(line.drops_unknown_versions),
    "notice.not-kept": Check(line.keeps_no_notices),
    "order.done": Check(line.answers_orders),
    "order.twice": Check(line.obeys_twice),
    "order.report": Check(line.reports_orders),
    "order.unknown": Check(line.drops_unknown_orders),
    "number.wrap": Check(streams.wraps, seconds=60),
    "hello.next": Check(line.counts_on),
    "hello.oldest": Check(line.names_the_oldest),
    "clock.microseconds": Check(streams.counts_microseconds),
    "repeat.due": Check(reports.repeats),
    "repeat.for-ever": Check(reports.repeats_for_ever),
    "repeat.same": Check(reports.repeats_the_same),
    "repeat.counted": Check(reports.counts_from_the_acknowledgement),
    "ack.forgets": Check(reports.forgets),
    "ack.unknown": Check(reports.strange_acknowledgements),
    "ack.other-stream": Check(reports.acknowledges_another_stream),
    "number.zero": Check(reports.zero),
    "resend.from": Check(reports.resends),
    "resend.unknown": Check(reports.resends_what_it_has_not),
    "resend.other-stream": Check(reports.asks_for_another_stream),
    "keep.until-acknowledged": Check(reports.keeps),
    "keep.over-a-cut": Check(reports.keeps_over_a_cut),
    "keep.in-a-flood": Check(reports.keeps_in_a_flood),
    "window.size": Check(reports.window_is_kept),
    "window.moves": Check(reports.window_moves),
    "hello.open": Check(line.greets),
    "hello.power-up": Check(streams.greets_at_power_up),
    "stream.lost": Check(streams.loses_with_a_new_stream),
    "stream.kept": Check(streams.goes_on),
    "stream.id": Check(streams.draws_its_ids),
    "keep.room": Check(streams.has_room, seconds=60),
    "full.kept": Check(streams.full_keeps, seconds=60),
    "full.dropped": Check(streams.full_drops, seconds=60),
    "full.stream": Check(streams.full_begins_a_stream, seconds=60),
    "full.state": Check(streams.full_says_how_it_stands, seconds=60),
    "request.readable": Check(line.drops_unreadable_requests),
    "boot.counted": Check(version_3.counts_power_ups),
    "clock.sent": Check(version_3.sends_its_clock),
    "status.asked": Check(version_3.says_its_state),
    "status.once": Check(version_3.says_its_state_once),
    "status.full": Check(version_3.full_says_its_state, seconds=60),
    "channel.sealed": Check(channel.seals_all),
    "channel.refuses": Check(channel.refuses_plain_frames, seconds=10),
    "channel.proof": Check(channel.has_the_key),
    "channel.again": Check(channel.answers_again),
    "channel.false-challenge": Check(channel.keeps_its_session),
    "channel.hello": Check(channel.greets_in_a_session),
    "channel.unkeyed": Check(channel.says_that_it_has_no_session),
    "channel.counts": Check(channel.opens_nothing_twice),
    "channel.inside": Check(channel.says_version_3_inside),
    "alive.due": Check(line.is_alive, seconds=12),
}
# What is missing where a watched clause is not tried.
WATCHED: Final[Mapping[str, str]] = {
    "frame.escapes": "no frame came",
    "frame.crc": "no frame came",
    "frame.size": "no frame came",
    "version.known": "no frame came",
    "version.one": "no frame came",
    "notice.number": "no notice came",
    "alive.next": "no ALIVE came",
    "hello.first": "the power was not cut",
    "hello.stream": "no stream began meanwhile",
    "number.first": "no stream began meanwhile",
    "number.wrap": "the numbers did not wrap",
    "keep.most": "no HELLO came",
    "role.messages": "no report came",
    "report.number": "no report came",
    "report.fields": "no report came",
    "number.unbroken": "no report came",
    "clock.forward": "no report came",
    "repeat.same": "no report came twice",
    "fault.once": "no fault was reported; raise and clear one meanwhile",
    "card.position": "no card came; draw cards meanwhile",
    "card.locked": "no card left a locked shoe; lock it and draw one",
    "card.burnt": "no card was burnt after a set was put in; do so meanwhile",
    "boot.named": "no report came after HELLO",
    "report.boot": "no report came",
    "clock.power-up": "no report came",
    "status.faults": "no STATUS came",
    "set.named": "no set was shuffled; shuffle one meanwhile",
    "set.order": "no set was delivered; shuffle one meanwhile",
    "set.cards": "no order of a set came; shuffle one meanwhile",
}


class Verdict(Enum):
    PASSED = "passed"
    FAILED = "failed"
    NOT_TRIED = "not tried"


class Outcome(NamedTuple):
    clause: Clause
    verdict: Verdict
    detail: str = ""
    trace: tuple[Passed, ...] = ()


def run(host: Host, only: Collection[str] = ()) -> Iterator[Outcome]:
    """The result of each clause: of the checks while they are made, of the others at the end."""
    by_name = {each.name: each for each in CLAUSES if not only or each.name in only}
    silent = False
    reasons: dict[str, str] = {}  # of the watched clauses whose check was not made
    for name, check in CHECKS.items():
        if name not in by_name:
            continue
        outcome = tried(host, by_name[name], check, silent=silent)
        silent = silent or (name == "hello.identify" and outcome.verdict is Verdict.FAILED)
        if name not in WATCHED:
            yield outcome
        elif outcome.verdict is Verdict.NOT_TRIED:
            reasons[name] = outcome.detail
        else:
            host.watch.judge(name, right=outcome.verdict is Verdict.PASSED, detail=outcome.detail)
    last_words(host)
    for name, clause in by_name.items():
        if clause.untried:
            yield Outcome(clause, Verdict.NOT_TRIED, clause.untried)
        elif name in WATCHED:
            yield watched(host, clause, reasons.get(name) or WATCHED[name])


def last_words(host: Host) -> None:
    """An exit that is locked is unlocked, and nothing stays with the device."""
    with suppress(Gone, NoHello, Untried):
        host.settle()
        host.leave()
        host.settle()


def tried(host: Host, clause: Clause, check: Check, *, silent: bool) -> Outcome:
    if check.seconds > host.limits.longest_s:
        return Outcome(clause, Verdict.NOT_TRIED, f"it takes up to {check.seconds:g} s; give a higher --longest")
    if silent:
        return Outcome(clause, Verdict.NOT_TRIED, "the device says no HELLO")
    if (reason := other(host, clause)) is not None:
        return Outcome(clause, Verdict.NOT_TRIED, reason)
    host.trace.clear()
    try:
        if clause.name != "hello.identify":
            host.settle()
        check.run(host)
    except Untried as why:
        if isinstance(why, Stuck) and clause.name == "ack.forgets":
            return Outcome(clause, Verdict.FAILED, str(why), host.evidence())
        return Outcome(clause, Verdict.NOT_TRIED, str(why))
    except Broken as broken:
        return Outcome(clause, Verdict.FAILED, str(broken), host.evidence())
    except NoHello:
        return Outcome(clause, Verdict.FAILED, "the device no longer says HELLO", host.evidence())
    except Gone as gone:
        return lost(host, clause, str(gone))
    return Outcome(clause, Verdict.PASSED)


def lost(host: Host, clause: Clause, reason: str) -> Outcome:
    """The device hung up: that is a failure of the check, and the next one begins on a new line."""
    evidence = host.evidence()
    host.line.cut()
    host.watch.opened()
    with suppress(Untried):
        host.open_by(host.line.now_ns())
    return Outcome(clause, Verdict.FAILED, f"the line was lost: {reason}", evidence)


def other(host: Host, clause: Clause) -> str | None:
    """Why the clause is not one of this device."""
    if clause.role is not None and host.role is not None and clause.role is not host.role:
        return f"it is a rule for a {clause.role.value}"
    if not clause.since <= host.version <= clause.until:
        return f"it is no rule of version {host.version}"
    if clause.keyed and host.channel is None:
        return "it is a rule for a device with a key; give --key-file"
    return None


def watched(host: Host, clause: Clause, missing: str) -> Outcome:
    breach = host.watch.breaches.get(clause.name)
    if breach is not None:
        return Outcome(clause, Verdict.FAILED, breach.detail, breach.trace)
    if (reason := other(host, clause)) is not None:
        return Outcome(clause, Verdict.NOT_TRIED, reason)
    if clause.name not in host.watch.tried:
        return Outcome(clause, Verdict.NOT_TRIED, missing)
    return Outcome(clause, Verdict.PASSED)
