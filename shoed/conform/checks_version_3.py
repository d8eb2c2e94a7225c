"""Checks of what version 3 adds: power-ups, the clock in notices, and the whole state."""

from firmware_protocols.open_shoe.messages import Inquire, Lock, OrderKind, Result, Role, Status, following
from shoed.conform.checks_reports import need, once
from shoed.conform.checks_streams import CLOCK_S, full, keep_time, power_cycle
from shoed.conform.host import Broken, Host
from shoed.session.open_shoe_stream import BOOTS


def counts_power_ups(host: Host) -> None:
    found = once(host, power_cycle)
    before, after = found.before, found.after
    need(after.boot != before.boot, f"the power was cut, and HELLO still names power-up {before.boot}")
    if after.stream == before.stream:
        due = (before.boot + 1) % BOOTS
        need(after.boot == due, f"power-up {before.boot} was before, {due} is due, and HELLO names {after.boot}")


def sends_its_clock(host: Host) -> None:
    """Two HELLOs, some time apart: their clocks are as far apart."""

    def one() -> tuple[int, int]:
        host.identify()
        return next((each.at_ns, each.hello.clock_us) for each in reversed(host.heard) if each.hello is not None)

    first = one()
    host.wait(CLOCK_S)
    second = one()
    keep_time(first, second, "the clock in HELLO")
    last_us = max((each.clock_us for each in host.reported() if each.boot == host.watch.boot), default=0)
    need(last_us <= second[1], f"a report has the clock {last_us}, and HELLO has {second[1]} after it")


def status_of(host: Host) -> Status:
    host.say(Inquire())
    heard = host.wait(host.limits.answer_s, lambda heard: isinstance(heard.message.said, Status))
    if heard is None or not isinstance(heard.message.said, Status):
        raise Broken("no STATUS came on INQUIRE")
    return heard.message.said


def says_its_state(host: Host) -> None:
    status_of(host)
    if host.role is not Role.SHOE:
        return
    for kind in (OrderKind.UNLOCK, OrderKind.LOCK, OrderKind.UNLOCK):
        host.settle()
        done = host.order(kind)
        if done is None or done.result is not Result.DONE:
            return  # what a person locks is not known here
        locked = kind is OrderKind.LOCK
        need(status_of(host).locked is locked, f"after the order {kind.value}, STATUS does not say so")


def says_its_state_once(host: Host) -> None:
    status_of(host)
    host.say(Inquire())
    host.identify()
    fresh = {each.sequence: type(each.said) for each in host.reported()}
    pairs = [number for number, kind in fresh.items() if fresh.get(following(number)) is kind is Status]
    need(not pairs, f"the newest report was a STATUS, number {pairs[:1]}, and INQUIRE made another one")


def full_says_its_state(host: Host) -> None:
    found = once(host, full)
    said = [each.said for each in found.opening[2:3]]
    need([type(each) for each in said] == [Status], "STATUS does not follow FAULT 8")
    locks = [each for each in found.opening if isinstance(each.said, Lock)]
    need(not locks, "LOCK follows a full memory, in the place of STATUS")
