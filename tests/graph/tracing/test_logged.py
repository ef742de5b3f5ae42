"""Messages to logs, compiled: the same records as eagerly, from the same lines."""

import logging
import logging.handlers
import warnings

import numpy as np
import pytest

from lamella import Tensor, jit, ops
from lamella.core import log
from lamella.core.log import _get_logger

LOGGER = logging.getLogger(__name__)
X = Tensor(np.array([1.0, 2.0, -4.0], np.float32))


class State:
    logger = LOGGER
    count = 0


STATE = State()


def a_text(x):
    loss = x.sum()
    LOGGER.info(f"loss {float(loss):.3f}")
    return loss


def a_number(x):
    loss = x.sum()
    LOGGER.warning("loss %.3f at %d", float(loss), 7)
    return loss


def a_tensor(x):
    LOGGER.info("loss %s", x.sum())
    LOGGER.info(f"{x.max()} of {x}")
    LOGGER.info(x)
    return x * 2


def by_the_root(x):
    logging.error("{:.1f}".format(x.sum()))  # noqa: UP032
    return x * 2


def of_an_attribute(x):
    STATE.count += 1
    if STATE.count % 3 == 0:
        STATE.logger.critical(f"step {STATE.count}: {float(x.sum()):.2f}")
    return x * STATE.count


def by_names(x):
    LOGGER.info("%(loss).2f %(name)s", {"loss": float(x.sum()), "name": "a"})
    return x * 2


def of_lamella(x):
    log.error(f"sum {x.sum():.2f}")
    log.warning("sum %.2f", float(x.sum()))
    return x * 2


def of_a_level_that_is_off(x):
    LOGGER.debug(f"loss {x.sum():.3f}")
    return x * 2


def says(x):
    LOGGER.info("loss %.3f", x.sum(), stacklevel=2)


def of_the_callers_line(x):
    says(x)
    return x * 2


def says_more(x):
    LOGGER.info("loss %.3f", float(x.sum()), extra={"step": 3})
    return x * 2


def with_the_error(x):
    try:
        x[7]
    except IndexError:
        LOGGER.exception("no row")
    return x * 2


def computes_with_the_text(x):
    LOGGER.info(f"loss {x.sum():.3f}".rjust(20))
    return x * 2


def refused_meanwhile(x):
    LOGGER.info(f"loss {x.sum():.3f} {x.asnumpy()[0]}")
    return x * 2


def records(function, calls=9):
    """What it gives, and what the logs get."""
    STATE.count = 0
    kept = logging.handlers.MemoryHandler(10_000, flushLevel=1000)
    loggers = [(logger, logger.handlers[:], logger.level)
               for logger in (LOGGER, logging.getLogger(), _get_logger())]
    for logger, *_ in loggers:
        logger.handlers[:] = [kept]
        logger.setLevel(logging.INFO)
    LOGGER.propagate = False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            found = [function(X * k).asnumpy().tolist() for k in range(calls)]
    finally:
        for logger, handlers, level in loggers:
            logger.handlers[:] = handlers
            logger.setLevel(level)
    return found, [(r.name, r.levelname, r.getMessage(), r.lineno, r.funcName, r.pathname,
                    r.exc_text) for r in kept.buffer]


GRAPHS = [a_text, a_number, a_tensor, by_the_root, of_an_attribute, by_names, of_lamella,
          of_a_level_that_is_off, of_the_callers_line]
EAGER = [says_more, with_the_error, computes_with_the_text, refused_meanwhile]


@pytest.mark.parametrize("function", GRAPHS + EAGER)
def test_records(function, executor):
    compiled = jit(function)
    wanted = records(function)
    assert records(compiled) == wanted
    report = compiled.report()
    if function in GRAPHS:
        assert report["replays"] > 3 and not report["eager"]
        assert wanted[1] or function is of_a_level_that_is_off
    else:
        assert not report["replays"]


def test_a_handler_of_the_programs_own_runs_at_its_place():
    class Counts(logging.Handler):
        seen = 0

        def emit(self, record):
            self.seen += 1

    def run(wrap):
        handler = Counts()
        logger = logging.Logger("own", logging.INFO)
        logger.addHandler(handler)

        def step(x):
            logger.info("a step")
            return x * handler.seen

        step = wrap(step)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            return [step(X).asnumpy().tolist() for _ in range(4)]

    assert run(jit) == run(lambda f: f)


def test_a_handler_that_is_added_later():
    seen = []

    class Keeps(logging.Handler):
        def emit(self, record):
            seen.append(record.getMessage())

    logger = logging.Logger("later", logging.INFO)
    logger.addHandler(logging.NullHandler())

    @jit
    def step(x):
        logger.info(f"sum {x.sum():.1f}")
        return x * len(seen)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for _ in range(3):
            step(X)
        logger.addHandler(Keeps())
        assert [step(X).asnumpy()[0] for _ in range(3)] == [1.0, 2.0, 3.0]
    assert seen == ["sum -1.0"] * 3


def test_other_threads_log_as_ever_while_one_records():
    from concurrent.futures import ThreadPoolExecutor

    def logs(_):
        LOGGER.info("from a thread")

    def both(x):
        compiled = jit(lambda x: ops.sin(x) * 2)
        with ThreadPoolExecutor(2) as pool:
            waiting = pool.map(logs, range(20))
            compiled(x)
            list(waiting)
        return x

    _, found = records(both, 3)
    assert {(text, name) for _, _, text, _, name, *_ in found} == {("from a thread", "logs")}
    assert len({number for *_, number, _, _, _ in found}) == 1
