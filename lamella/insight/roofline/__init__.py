"""What a step does and what limits it: its kernels beside the peaks of this machine."""

from .explain import explain as explain
from .report import Report as Report
