"""Which functions written in C may be part of a graph."""

import _thread
import builtins
import collections
import contextvars
import datetime
import decimal
import functools
import gc
import io
import itertools
import math
import os
import random
import re
import struct
import sys
import threading
import time
import weakref

import numpy as np
import pytest
import torch

from lamella.graph.tracing.purity import is_pure, is_pure_library, name_of, reads_a_setting

VARIABLE = contextvars.ContextVar("variable")
FILE = io.StringIO()


class Own:
    """A class of the program's."""


@pytest.mark.parametrize("function", [
    torch.sin, torch._C._nn.gelu, torch._C._linalg.linalg_inv, torch.ones(1).add, abs, "a".join,
    math.sin, len, sorted, print, [].append, {}.popitem, {1}.add, {}.keys().isdisjoint,
    collections.deque().rotate, bytearray().extend, (1).bit_length, (1.5).hex, range(3).index,
    np.zeros, np.ones(1).sum, np.float32(1).item, np.dtype("f4").newbyteorder, np.add.reduce,
    sys.intern, sys.getsizeof, os.fspath, _thread.allocate_lock, struct.Struct("i").pack,
    re.compile("a").match, functools.partial(len).__reduce__, functools.lru_cache(len).cache_clear,
    random.Random(1).random, decimal.Decimal(1).sqrt, decimal.getcontext, VARIABLE.get,
    datetime.datetime.fromisoformat, dict.fromkeys, int.from_bytes, Own.mro, Own.__subclasscheck__,
    Own.__init_subclass__, itertools.chain.from_iterable,
    object().__reduce_ex__, weakref.ref, functools.reduce, struct.pack],
    ids=lambda function: function.__qualname__)
def test_what_only_computes_is_pure(function):
    assert is_pure(function)


@pytest.mark.parametrize("function", [
    torch.set_num_threads, torch.get_num_threads, torch._C._set_grad_enabled, open, time.time,
    id, hash, eval, exec, globals, os.getcwd, os.urandom, sys.getrecursionlimit, sys.settrace,
    gc.collect, _thread.get_ident, threading.Lock().acquire, FILE.write, FILE.__enter__,
    FILE.getvalue, VARIABLE.set, datetime.datetime.now, datetime.date.today,
    datetime.datetime.utcnow, random.Random(1).seed, random.Random(1).getstate,
    np.random.RandomState(1).rand, np.random.default_rng(1).random, np.ones(1).tofile,
    np.ones(1).dump, np.fromfile, weakref.getweakrefcount, weakref.getweakrefs,
    FILE.__reduce_ex__, Own.__subclasses__, builtins.input, builtins.breakpoint],
    ids=lambda function: function.__qualname__)
def test_what_changes_or_reads_a_state_is_not(function):
    assert not is_pure(function)


@pytest.mark.parametrize("function, does", [
    (torch._C._get_cudnn_enabled, True), (torch._C._get_deterministic_algorithms, True),
    (torch._C._is_multithreading_enabled, True), (torch.get_num_threads, True),
    (torch._C._set_grad_enabled, False), (torch.set_num_threads, False), (torch.sin, False),
    (math.sin, False), ([].append, False), (time.get_clock_info, False)], ids=range(10))
def test_functions_that_say_what_is_set(function, does):
    assert reads_a_setting(function) is does


@pytest.mark.parametrize("function, name", [
    (len, "len"), (math.sin, "math.sin"), ([].append, "list.append"), (time.time, "time.time"),
    (_thread.get_ident, "thread.get_ident"), (io.open, "io.open"), (FILE.write, "StringIO.write"),
    (datetime.datetime.now, "datetime.now"), (np.random.rand, np.random.rand.__qualname__),
    (os.getcwd, f"{os.getcwd.__module__}.getcwd")],
    ids=range(10))
def test_names_in_messages(function, name):
    assert name_of(function) == name


@pytest.mark.parametrize("module, name, pure", [
    ("collections.abc", "get", True), ("json.decoder", "decode", True), ("numpy", "f", True),
    ("numpy.linalg", "norm", True), ("os", "getenv", False), ("subprocess", "run", False),
    ("urllib.request", "urlopen", False), ("logging", "info", True), ("logging", "shutdown", False),
    ("logging.handlers", "info", True), ("logging.handlers", "emit", False),
    ("posixpath", "join", True), ("_weakrefset", "add", True), ("weakref", "get", True),
    ("random", "shuffle", True), ("threading", "current_thread", False), ("queue", "put", False),
    ("socket", "send", False), ("tempfile", "mkdtemp", False), ("programs_own", "f", True)])
def test_functions_of_pythons_library(module, name, pure):
    assert is_pure_library(module, name) is pure
