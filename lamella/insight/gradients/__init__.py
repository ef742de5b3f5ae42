"""Looking at gradients: where they flow, where they end, and why one is zero."""

from .inspection import inspect_gradients as inspect_gradients
from .report import GradientReport as GradientReport
from .statistics import Numbers as Numbers
