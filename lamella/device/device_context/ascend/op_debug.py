"""Settings of Ascend's error search, which have no effect here."""

from ..choice import choice

__all__ = ["aclinit_config", "debug_option", "execute_timeout"]

execute_timeout = choice("execute_timeout")
debug_option = choice("debug_option")
aclinit_config = choice("aclinit_config")
