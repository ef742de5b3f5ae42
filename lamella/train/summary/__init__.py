"""Summaries: what a run writes for TensorBoard to show."""

from .record import SummaryRecord

__all__ = ["SummaryRecord"]
