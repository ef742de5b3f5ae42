"""Calls in threads that begin at the same moment, and switch at nearly every step."""

import sys
import threading
from collections.abc import Callable
from typing import Any


def at_once(function: Callable[[int], Any], threads: int = 6) -> list[Any]:
    """What each thread gets of a function that all call at the same moment, with its number."""
    start = threading.Barrier(threads)
    found: list[Any] = [None] * threads

    def run(number: int) -> None:
        start.wait()
        try:
            found[number] = function(number)
        except BaseException as error:  # noqa: BLE001  (raised below)
            found[number] = error

    running = [threading.Thread(target=run, args=(number,)) for number in range(threads)]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in running:
            thread.start()
        for thread in running:
            thread.join(60)
            assert not thread.is_alive(), "a thread hangs"
    finally:
        sys.setswitchinterval(before)
    for one in found:
        if isinstance(one, BaseException):
            raise one
    return found
