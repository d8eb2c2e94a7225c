"""From chunks to complete, checked frames; rejected bytes have a reason."""

from firmware_protocols.family import Reason
from shoed.wire.deframe import Frame, LineState, Rejected, end, expire, receive, wake_at

__all__ = ["Frame", "LineState", "Reason", "Rejected", "end", "expire", "receive", "wake_at"]
