"""Checks of the additions of version 3: power-ups, the clock in notices, and the whole state."""

from firmware_protocols.open_shoe.messages import (
    Inquire,
    Lock,
    OpenShoeResult,
    OpenShoeRole,
    OpenShoeStatus,
    OrderKind,
    following,
)
from shoed.rig.conform.checks_reports import need, once
from shoed.rig.conform.checks_streams import CLOCK_S, full, keep_time, power_cycle
from shoed.rig.conform.host import Broken, Host
from shoed.session.open_shoe_stream import BOOTS


def counts_power_ups(host: Host) -> None:
    found = once(host, power_cycle)
    before, after = found.before, found.after
    need(after.boot != before.boot, f"the power was cut, and HELLO still has power-up {before.boot}")
    if after.stream == before.stream:
        due = (before.boot + 1) % BOOTS
        need(after.boot == due, f"after power-up {before.boot}, HELLO must have power-up {due}, and has {after.boot}")


def sends_its_clock(host: Host) -> None:
    """Between two HELLOs, the clock advances by the time between them."""

    def one() -> tuple[int, int]:
        host.identify()
        return next((each.at_ns, each.hello.clock_us) for each in reversed(host.heard) if each.hello is not None)

    first = one()
    host.wait(CLOCK_S)
    second = one()
    keep_time(first, second, "the clock in HELLO")
    last_us = max((each.clock_us for each in host.reported() if each.boot == host.watch.boot), default=0)
    need(last_us <= second[1], f"a report has the clock {last_us}, and a later HELLO has {second[1]}")


def status_of(host: Host) -> OpenShoeStatus:
    host.say(Inquire())
    heard = host.wait(host.limits.answer_s, lambda heard: isinstance(heard.message.body, OpenShoeStatus))
    if heard is None or not isinstance(heard.message.body, OpenShoeStatus):
        raise Broken("the device did not answer INQUIRE with STATUS")
    return heard.message.body


def reports_its_state(host: Host) -> None:
    status_of(host)
    if host.role is not OpenShoeRole.SHOE:
        return
    for kind in (OrderKind.UNLOCK, OrderKind.LOCK, OrderKind.UNLOCK):
        host.settle()
        done = host.order(kind)
        if done is None or done.result is not OpenShoeResult.DONE:
            return  # without orders, the state of the exit is not known here
        locked = kind is OrderKind.LOCK
        need(status_of(host).locked is locked, f"STATUS after the order {kind.value} has another state of the exit")


def reports_its_state_once(host: Host) -> None:
    status_of(host)
    host.say(Inquire())
    host.identify()
    fresh = {each.sequence: type(each.body) for each in host.reported()}
    pairs = [number for number, kind in fresh.items() if fresh.get(following(number)) is kind is OpenShoeStatus]
    need(not pairs, f"the newest report was a STATUS, number {pairs[:1]}, and INQUIRE caused another STATUS")


def full_reports_status(host: Host) -> None:
    found = once(host, full)
    third = [each.body for each in found.opening[2:3]]
    need([type(each) for each in third] == [OpenShoeStatus], "STATUS does not follow FAULT 8")
    locks = [each for each in found.opening if isinstance(each.body, Lock)]
    need(not locks, "after a full memory, the device reports LOCK instead of STATUS")
