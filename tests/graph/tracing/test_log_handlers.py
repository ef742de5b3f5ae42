"""Which messages to logs a replay can write: the parts are values, and nothing of the program sees
them."""

import collections
import logging
import logging.handlers
import warnings

import numpy as np
import pytest

from lamella import Parameter, Tensor, jit
from lamella.graph.tracing.logged import _has_others_handlers, _is_value, _place

X = Tensor([1.0, 2.0])


class Handler(logging.Handler):
    def emit(self, record):
        pass


class Own(logging.Logger):
    pass


class Handles(logging.Logger):
    def handle(self, record):
        super().handle(record)


class Makes(logging.Logger):
    def makeRecord(self, *args, **kwargs):
        return super().makeRecord(*args, **kwargs)


def passes(record):
    return True


class Filter:
    def filter(self, record):
        return True


def logger_of(*handlers, kind=logging.Logger, filters=(), parent=None, propagate=True):
    made = kind("made", logging.INFO)
    made.handlers[:], made.filters[:], made.parent = handlers, filters, parent
    made.propagate = propagate
    return made


def filtered(by):
    handler = logging.NullHandler()
    handler.addFilter(by)
    return handler


PLAIN = logger_of(logging.NullHandler(), logging.StreamHandler())
OTHERS = logger_of(Handler())


@pytest.mark.parametrize("logger, has", [
    (logger_of(), False), (PLAIN, False), (OTHERS, True),
    (logger_of(logging.NullHandler(), Handler()), True), (logger_of(kind=Own), False),
    (logger_of(kind=Handles), True), (logger_of(kind=Makes), True),
    (logger_of(filters=[passes]), True), (logger_of(filters=[Filter()]), True),
    (logger_of(filters=[logging.Filter("a")]), False), (logger_of(filtered(passes)), True),
    (logger_of(filtered(logging.Filter("a"))), False), (logger_of(parent=OTHERS), True),
    (logger_of(parent=OTHERS, propagate=False), False), (logger_of(parent=PLAIN), False),
    (logger_of(parent=logger_of(parent=OTHERS)), True)], ids=range(16))
def test_whether_code_of_the_program_may_see_a_message(logger, has):
    assert _has_others_handlers(logger) is has


def test_a_programs_own_records():
    class Record(logging.LogRecord):
        pass

    before = logging.getLogRecordFactory()
    logging.setLogRecordFactory(Record)
    try:
        assert _has_others_handlers(PLAIN)
    finally:
        logging.setLogRecordFactory(before)
    assert not _has_others_handlers(PLAIN)


def test_handlers_of_installed_packages_only_write(monkeypatch):
    class Installed(logging.Handler):
        pass

    monkeypatch.setattr(Installed, "__module__", "pytest")
    assert not _has_others_handlers(logger_of(Installed()))
    monkeypatch.setattr(Installed, "__module__", "of_no_file")
    assert _has_others_handlers(logger_of(Installed()))


@pytest.mark.parametrize("part, is_one", [
    (1, True), ("a", True), (None, True), (X, True), (np.float32(1), True), ((1, [X]), True),
    ({"a": (X, 2)}, True), ({("a", 1): 2}, True), (Parameter(X, name="w"), False),
    (object(), False), ([object()], False), ({"a": object()}, False), ({object(): 1}, False),
    (collections.OrderedDict(a=1), False), ({1}, False), (np.ones(2), False)], ids=range(16))
def test_parts_of_messages_that_are_values(part, is_one):
    assert _is_value(part) is is_one


def test_the_place_of_a_message(monkeypatch):
    def place(level):
        return _place(PLAIN, level)

    file, line, name = place(1)
    assert (file, name) == (__file__, "place") and line == place.__code__.co_firstlineno + 1
    assert place(2)[2] == "test_the_place_of_a_message"
    monkeypatch.setattr(logging, "_srcfile", None)
    assert place(1) == ("(unknown file)", 0, "(unknown function)")




KEPT = logging.handlers.MemoryHandler(10_000, flushLevel=1000)
LOGGER = logging.Logger("of.handlers", logging.INFO)
LOGGER.addHandler(KEPT)


def fails():
    try:
        raise ValueError("text")
    except ValueError as error:
        return error


def two_texts(x):
    LOGGER.info(f"{x.sum():.1f} {x.max()} %d", 3)


ERROR = fails()
MESSAGES = {
    "text": (lambda x: LOGGER.info("a %s", x.sum()), True),
    "directly": (lambda x: LOGGER._log(logging.INFO, "a %s", (x.sum(),)), True),
    "below a level": (lambda x: LOGGER.debug("a %s", x.sum()), True),
    "a deeper line": (lambda x: LOGGER.info("a", stacklevel=2), True),
    "two texts": (two_texts, True),
    "an error": (lambda x: LOGGER.info("a", exc_info=ERROR), False),
    "more": (lambda x: LOGGER.info("a", extra={"more": 1}), False),
    "the stack": (lambda x: LOGGER.info("a", stack_info=True), False),
    "an object": (lambda x: LOGGER.info("a %s", LOGGER), False),
    "another logger": (lambda x: OTHERS.info("a"), False)}


@pytest.mark.parametrize("name", MESSAGES)
def test_which_messages_are_part_of_a_graph(name):
    log, is_graph = MESSAGES[name]

    def step(x):
        log(x)
        return x * 2

    compiled, found = jit(step), []
    for call in (step, compiled):
        KEPT.buffer.clear()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for number in range(4):
                call(X + number)
        found.append([(r.getMessage(), r.lineno, r.funcName, r.levelname, bool(r.exc_info),
                       getattr(r, "more", 0), bool(r.stack_info)) for r in KEPT.buffer])
    if name != "a deeper line":  # whose caller differs
        assert found[0] == found[1]
    report = compiled.report()
    assert (report["replays"] == 3 and report["eager"] == []) is is_graph
    assert is_graph or "writes to a log" in report["eager"][0]
