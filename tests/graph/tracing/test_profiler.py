"""The profiler of recorded runs, in C++, and beside profilers of the program's own."""

from __future__ import annotations

import cProfile
import sys

import pytest

from lamella import Tensor, jit
from lamella.graph.tracing import outside


def test_the_profiler_in_cpp_calls_python_for_other_code_only():
    built = outside.extension.module
    if built is None:
        pytest.skip("the profiler in C++ isn't there")
    events, asked = [], []

    def ours():
        return len([])

    def users():
        return abs(-1)

    def event(frame, what, arg):
        events.append((frame.f_code, what, arg))

    def passes_over(code):
        asked.append(code)
        return code is ours.__code__

    profiler = event, passes_over, built.known()
    built.enable(profiler)
    ours(), users(), users(), ours()
    assert sys.getprofile() is profiler
    sys.setprofile(None)
    assert ([e for e in events if e[0] is users.__code__]
            == 2 * [(users.__code__, "call", None), (users.__code__, "c_call", abs)])
    assert all(code is not ours.__code__ for code, *_ in events)
    assert asked.count(ours.__code__) == asked.count(users.__code__) == 1
    with pytest.raises(ZeroDivisionError):
        built.enable((lambda *_: 1 / 0, passes_over, built.known()))
        users()
    assert sys.getprofile() is None
    with pytest.raises(TypeError, match="not a profiler"):
        built.enable((event, passes_over))


def test_a_profiler_of_the_user_keeps_running():
    events = []

    def profile(frame, event, arg):
        events.append(event)

    sys.setprofile(profile)
    try:
        jit(lambda x: x * 3)(Tensor([1.0, 2.0]))
        assert sys.getprofile() is profile
    finally:
        sys.setprofile(None)
    assert events


def test_cprofile_keeps_running():
    with cProfile.Profile() as profile:
        jit(lambda x: x * 3)(Tensor([1.0, 2.0]))
        sorted([2, 1])
    assert any("sorted" in str(entry.code) for entry in profile.getstats())
