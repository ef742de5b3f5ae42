"""Runs the tests of this folder in processes that have the simulated device, and no other tests.

With another device (see `target`) they run in the process of the other tests.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from tests.device.simulated import building, target
from tests.zygote import ROOT, run_together

CHILD = Path(__file__).with_name("child.py")


@pytest.fixture(scope="session")
def library() -> Path | None:
    """The library of the simulated device; None where another one is asked for."""
    if target.IS_REAL:
        return None
    try:
        return building.library()
    except building.CannotBuild as reason:
        pytest.skip(str(reason))


@pytest.fixture(autouse=True)
def _built(library: Path | None) -> None:
    """Every test here needs it."""


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool:
    """Run a test in a process of its own, by the name of its function, with its parameters."""
    if target.IS_REAL:
        return _run_here(pyfuncitem)
    path = pyfuncitem.path.relative_to(ROOT).with_suffix("")
    parameters = pyfuncitem.callspec.params if hasattr(pyfuncitem, "callspec") else {}
    command = [CHILD, pyfuncitem.funcargs["library"], ".".join(path.parts),
               pyfuncitem.originalname, json.dumps(parameters)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    (ended,) = run_together([command], [environment], timeout=600)
    sys.stdout.write(ended.stdout)
    if ended.returncode:
        pytest.fail(f"on the simulated device (status {ended.returncode}):\n{ended.stderr}",
                    pytrace=False)
    return True


def _run_here(pyfuncitem: pytest.Function) -> bool:
    """Run a test on a device that is there."""
    given = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    with target.used():
        pyfuncitem.obj(**given)
    return True
