"""Makes `tests.contracts` importable; every test starts from the same seed, without kept files."""

import os

import pytest

os.environ.setdefault("LAMELLA_CACHE", "0")  # no test depends on what an earlier run compiled

import lamella  # noqa: E402


@pytest.fixture(autouse=True)
def _seeded():
    lamella.set_seed(0)
