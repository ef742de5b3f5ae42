"""Log messages: their form, their levels, and where they go."""

import logging
import re
import threading

import pytest

from lamella.core import log

NAMES = ("debug", "info", "warning", "error", "critical")
FORM = (r"\[%s\] ME\(\d+:\d+,MainProcess\):\d{4}-\d\d-\d\d-\d\d:\d\d:\d\d\.\d{3}\.\d{3} "
        r"\[.*test_log\.py:%d\] %s\n")


@pytest.fixture
def level(monkeypatch):
    """Gives the level by the environment, as when the package is imported."""
    logger = logging.getLogger("lamella")
    held = logger.level, logger.handlers[:], logger.propagate

    def chosen(value):
        if value is None:
            monkeypatch.delenv("GLOG_v", raising=False)
        else:
            monkeypatch.setenv("GLOG_v", value)
        logger.handlers[:] = []
        log._get_logger.cache_clear()

    yield chosen
    logger.level, logger.handlers[:], logger.propagate = held
    logger.manager._clear_cache()


@pytest.mark.parametrize("name", NAMES)
def test_the_form_of_a_message(level, capsys, name):
    level("0")
    line = test_the_form_of_a_message.__code__.co_firstlineno + 4  # with the decorator's
    getattr(log, name)("%s has %d rows", "a", 3)
    text = capsys.readouterr().err
    assert re.fullmatch(FORM % (name.upper(), line, "a has 3 rows"), text), text
    assert f":{threading.get_ident()}," in text


@pytest.mark.parametrize("given, first", [("0", 0), ("1", 1), ("2", 2), ("3", 3), ("4", 4),
                                          (None, 2), ("high", 2)])
def test_what_is_shown(level, capsys, given, first):
    level(given)
    for name in NAMES:
        getattr(log, name)(name)
    shown = [line.rsplit(" ", 1)[1] for line in capsys.readouterr().err.splitlines()]
    assert shown == list(NAMES[first:])
    assert log.get_level() == str(first)
    assert log.get_log_config() == {"GLOG_v": str(first), "GLOG_logtostderr": "1"}


def test_handlers_of_the_program_see_no_message(level, capsys):
    level("2")
    seen = []

    class Handler(logging.Handler):
        def emit(self, record):
            seen.append(record)

    handler = Handler()
    logging.getLogger().addHandler(handler)
    try:
        log.error("once")
    finally:
        logging.getLogger().removeHandler(handler)
    assert not seen and capsys.readouterr().err.count("once") == 1


def test_microseconds_of_a_message():
    record = logging.LogRecord("a", 30, "a.py", 1, "", (), None)
    record.created = 1_700_000_000.0625
    form = log._Form("%(asctime)s").format(record)
    assert form.endswith(".062.500") and len(form) == len("2023-11-14-22:13:20.062.500")
