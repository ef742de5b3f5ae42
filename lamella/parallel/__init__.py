"""Work spread over processes: its settings."""

from .layout import Layout
from .settings import (
    get_algo_parameters,
    reset_algo_parameters,
    set_algo_parameters,
)

__all__ = ["Layout", "get_algo_parameters", "reset_algo_parameters", "set_algo_parameters"]
