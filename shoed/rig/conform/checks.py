"""The table of checks, and a run of all checks with one result for each clause of the page.

A check of this table tests its clause. Every frame of the device tests a clause of WATCHED, and the check of the clause
tests it too, if there is one. Any other clause states itself why it is not tested. A later version of the protocol adds
its clauses to the page, and their checks to this table.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from enum import Enum
from typing import Final, NamedTuple

from firmware_protocols.open_shoe.clauses import CLAUSES, ProtocolClause
from shoed.rig.conform import checks_channel as channel
from shoed.rig.conform import checks_line as line
from shoed.rig.conform import checks_reports as reports
from shoed.rig.conform import checks_streams as streams
from shoed.rig.conform import checks_version_3 as version_3
from shoed.rig.conform.host import Broken, Host, NoHello, Stuck, Untried
from shoed.rig.conform.line import LineGone
from shoed.rig.conform.watch import Passed


class Check(NamedTuple):
    run: Callable[[Host], None]
    seconds: float = 5.0  # the maximum duration, without the time to wait for a person


CHECKS: Final[Mapping[str, Check]] = {
    "hello.identify": Check(line.sends_hello),
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
    "hello.next": Check(line.counts_reports),
    "hello.oldest": Check(line.names_the_oldest),
    "clock.microseconds": Check(streams.counts_microseconds),
    "repeat.due": Check(reports.repeats),
    "repeat.for-ever": Check(reports.repeats_for_ever),
    "repeat.same": Check(reports.repeats_the_same),
    "repeat.counted": Check(reports.counts_from_the_acknowledgement),
    "ack.forgets": Check(reports.forgets),
    "ack.unknown": Check(reports.strange_acknowledgements),
    "ack.other-stream": Check(reports.keeps_over_another_acknowledgement),
    "number.zero": Check(reports.zero),
    "resend.from": Check(reports.resends),
    "resend.unknown": Check(reports.answers_resend_outside_window),
    "resend.other-stream": Check(reports.resends_no_other_stream),
    "keep.until-acknowledged": Check(reports.keeps),
    "keep.over-a-cut": Check(reports.keeps_over_a_cut),
    "keep.in-a-flood": Check(reports.keeps_in_a_flood),
    "window.size": Check(reports.window_is_kept),
    "window.moves": Check(reports.window_moves),
    "hello.open": Check(line.greets),
    "hello.power-up": Check(streams.greets_at_power_up),
    "stream.lost": Check(streams.loses_with_a_new_stream),
    "stream.kept": Check(streams.continues_its_stream),
    "stream.id": Check(streams.draws_its_ids),
    "keep.room": Check(streams.has_room, seconds=60),
    "full.kept": Check(streams.full_keeps, seconds=60),
    "full.dropped": Check(streams.full_drops, seconds=60),
    "full.stream": Check(streams.full_begins_a_stream, seconds=60),
    "full.state": Check(streams.full_reports_state, seconds=60),
    "request.readable": Check(line.drops_unreadable_requests),
    "boot.counted": Check(version_3.counts_power_ups),
    "clock.sent": Check(version_3.sends_its_clock),
    "status.asked": Check(version_3.reports_its_state),
    "status.once": Check(version_3.reports_its_state_once),
    "status.full": Check(version_3.full_reports_status, seconds=60),
    "channel.sealed": Check(channel.seals_all),
    "channel.refuses": Check(channel.refuses_plain_frames, seconds=10),
    "channel.proof": Check(channel.has_the_key),
    "channel.again": Check(channel.answers_again),
    "channel.false-challenge": Check(channel.keeps_its_session),
    "channel.hello": Check(channel.greets_in_a_session),
    "channel.unkeyed": Check(channel.sends_unkeyed),
    "channel.counts": Check(channel.opens_nothing_twice),
    "channel.inside": Check(channel.has_version_3_inside),
    "alive.due": Check(line.is_alive, seconds=12),
}
# Why a watched clause was not tested.
WATCHED: Final[Mapping[str, str]] = {
    "frame.escapes": "no frame arrived",
    "frame.crc": "no frame arrived",
    "frame.size": "no frame arrived",
    "version.known": "no frame arrived",
    "version.one": "no frame arrived",
    "notice.number": "no notice arrived",
    "alive.next": "no ALIVE arrived",
    "hello.first": "the power was not cut",
    "hello.stream": "no stream began during the test",
    "number.first": "no stream began during the test",
    "number.wrap": "the numbers did not wrap",
    "keep.most": "no HELLO arrived",
    "role.messages": "no report arrived",
    "report.number": "no report arrived",
    "report.fields": "no report arrived",
    "number.unbroken": "no report arrived",
    "clock.forward": "no report arrived",
    "repeat.same": "no report was repeated",
    "fault.once": "no fault was reported; raise and clear a fault during the test",
    "card.position": "no card was reported; draw cards during the test",
    "card.locked": "no card left a locked shoe; lock the shoe and draw a card",
    "card.burnt": "no card was burnt after a new set was inserted; insert a set and burn cards during the test",
    "boot.named": "no report arrived after HELLO",
    "report.boot": "no report arrived",
    "clock.power-up": "no report arrived",
    "status.faults": "no STATUS arrived",
    "set.named": "no set was shuffled; shuffle a set during the test",
    "set.order": "no set was delivered; shuffle a set during the test",
    "set.cards": "no order of a set was reported; shuffle a set during the test",
}


class ClauseVerdict(Enum):
    PASSED = "passed"
    FAILED = "failed"
    NOT_TRIED = "not tried"


class ClauseResult(NamedTuple):
    clause: ProtocolClause
    verdict: ClauseVerdict
    detail: str = ""
    trace: tuple[Passed, ...] = ()


def run(host: Host, only: Collection[str] = ()) -> Iterator[ClauseResult]:
    """The result of each clause: first those of the checks, at the end those of the other clauses."""
    by_name = {each.name: each for each in CLAUSES if not only or each.name in only}
    silent = False
    reasons: dict[str, str] = {}  # of the watched clauses whose check was not possible
    for name, check in CHECKS.items():
        if name not in by_name:
            continue
        outcome = tried(host, by_name[name], check, silent=silent)
        silent = silent or (name == "hello.identify" and outcome.verdict is ClauseVerdict.FAILED)
        if name not in WATCHED:
            yield outcome
        elif outcome.verdict is ClauseVerdict.NOT_TRIED:
            reasons[name] = outcome.detail
        else:
            host.watch.judge(name, right=outcome.verdict is ClauseVerdict.PASSED, detail=outcome.detail)
    release_device(host)
    for name, clause in by_name.items():
        if clause.untried:
            yield ClauseResult(clause, ClauseVerdict.NOT_TRIED, clause.untried)
        elif name in WATCHED:
            yield watched(host, clause, reasons.get(name) or WATCHED[name])


def release_device(host: Host) -> None:
    """Unlock the exit, and leave no report with the device."""
    with suppress(LineGone, NoHello, Untried):
        host.settle()
        host.leave()
        host.settle()


def tried(host: Host, clause: ProtocolClause, check: Check, *, silent: bool) -> ClauseResult:
    if check.seconds > host.limits.longest_s:
        return ClauseResult(
            clause, ClauseVerdict.NOT_TRIED, f"the check takes up to {check.seconds:g} s; use a higher --longest"
        )
    if silent:
        return ClauseResult(clause, ClauseVerdict.NOT_TRIED, "the device sends no HELLO")
    if (reason := other(host, clause)) is not None:
        return ClauseResult(clause, ClauseVerdict.NOT_TRIED, reason)
    host.trace.clear()
    try:
        if clause.name != "hello.identify":
            host.settle()
        check.run(host)
    except Untried as why:
        if isinstance(why, Stuck) and clause.name == "ack.forgets":
            return ClauseResult(clause, ClauseVerdict.FAILED, str(why), host.evidence())
        return ClauseResult(clause, ClauseVerdict.NOT_TRIED, str(why))
    except Broken as broken:
        return ClauseResult(clause, ClauseVerdict.FAILED, str(broken), host.evidence())
    except NoHello:
        return ClauseResult(clause, ClauseVerdict.FAILED, "the device no longer sends HELLO", host.evidence())
    except LineGone as gone:
        return lost(host, clause, str(gone))
    return ClauseResult(clause, ClauseVerdict.PASSED)


def lost(host: Host, clause: ProtocolClause, reason: str) -> ClauseResult:
    """The device closed the line: the check failed, and the next check begins on a new line."""
    evidence = host.evidence()
    host.line.cut()
    host.watch.opened()
    with suppress(Untried):
        host.open_by(host.line.now_ns())
    return ClauseResult(clause, ClauseVerdict.FAILED, f"the line was lost: {reason}", evidence)


def other(host: Host, clause: ProtocolClause) -> str | None:
    """Why the clause does not apply to this device."""
    if clause.role is not None and host.role is not None and clause.role is not host.role:
        return f"this is a rule for a {clause.role.value}"
    if not clause.since <= host.version <= clause.until:
        return f"this rule does not apply to version {host.version}"
    if clause.keyed and host.channel is None:
        return "this is a rule for a device with a key; use --key-file"
    return None


def watched(host: Host, clause: ProtocolClause, missing: str) -> ClauseResult:
    breach = host.watch.breaches.get(clause.name)
    if breach is not None:
        return ClauseResult(clause, ClauseVerdict.FAILED, breach.detail, breach.trace)
    if (reason := other(host, clause)) is not None:
        return ClauseResult(clause, ClauseVerdict.NOT_TRIED, reason)
    if clause.name not in host.watch.tried:
        return ClauseResult(clause, ClauseVerdict.NOT_TRIED, missing)
    return ClauseResult(clause, ClauseVerdict.PASSED)
