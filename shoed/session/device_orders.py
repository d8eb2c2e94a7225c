"""Device orders, shared by the sessions of all families.

A session sends one order at a time, if orders are allowed. The order ends with the device's answer or its timeout.
"""

from abc import abstractmethod
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from firmware_protocols.family import Codec
from shoed.model.moments import Now
from shoed.model.observations import AnsweredBy, OrderAnswered
from shoed.model.step import DeviceOrder
from shoed.session.link import LinkState, M, SessionStep

NOT_OURS = "not ours"
NOT_ALLOWED = "orders to this device are not allowed; set allow_orders = true in its section and reload shoed"


def not_sent(order: str, reason: str, now: Now) -> OrderAnswered:
    return OrderAnswered(at=now, order=order, accepted=False, detail=reason, answered_by=AnsweredBy.HOST)


class AwaitedAnswer(msgspec.Struct, frozen=True):
    """An order that waits for its answer."""

    order: str
    until: int  # monotonic ns


class OrderingState(LinkState, frozen=True):
    asked: AwaitedAnswer | None = None

    @property
    def asked_until(self) -> int | None:
        return None if self.asked is None else self.asked.until


A = TypeVar("A", bound=OrderingState)


class OrderingStep(SessionStep[A, M]):
    def __init__(
        self, reports: Codec[M], quiet_after_s: int, state: A, *, allow_orders: bool, order_timeout_ms: int
    ) -> None:
        super().__init__(reports, quiet_after_s, state)
        self.allow_orders = allow_orders
        self.order_timeout_ms = order_timeout_ms

    @abstractmethod
    def send(self, order: DeviceOrder) -> str:
        """Send the order. The text is empty, or the reason why the order cannot be sent and what to do."""

    def order(self, order: DeviceOrder, now: Now) -> None:
        text = str(order)
        if not self.allow_orders:
            refusal = NOT_ALLOWED
        elif self.state.line is None:
            refusal = "the link is closed; connect the device, then repeat the order"
        elif self.state.asked is not None:
            refusal = f"the order {self.state.asked.order} still waits for its answer; repeat this order after it"
        elif not (refusal := self.send(order)):
            until = now.mono_ns + self.order_timeout_ms * 1_000_000
            self.state = replace(self.state, asked=AwaitedAnswer(text, until))
            return
        self.saw(not_sent(text, refusal, now))

    def answer(
        self, at: Now, *, accepted: bool, detail: str, answered_by: AnsweredBy = AnsweredBy.DEVICE, form: str = ""
    ) -> None:
        asked = self.state.asked
        if asked is None:  # the answer belongs to another host, or it is too late
            self.saw(OrderAnswered(at=at, order=NOT_OURS, accepted=accepted, detail=detail, form=form))
            return
        self.state = replace(self.state, asked=None)
        self.saw(
            OrderAnswered(
                at=at, order=asked.order, accepted=accepted, detail=detail, answered_by=answered_by, form=form
            )
        )

    def give_up_order(self, reason: str, now: Now) -> None:
        if self.state.asked is not None:
            self.answer(now, accepted=False, detail=reason, answered_by=AnsweredBy.NO_ONE)

    def give_up(self, now: Now) -> None:
        super().give_up(now)
        self.give_up_order("the link closed", now)

    def expire(self, now: Now) -> None:
        super().expire(now)
        if self.state.asked is not None and now.mono_ns >= self.state.asked.until:
            self.give_up_order("no answer in time", now)
