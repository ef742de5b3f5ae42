"""Makes `tests.contracts` importable and every test start from the same seed."""

import pytest

import lamella


@pytest.fixture(autouse=True)
def _seeded():
    lamella.set_seed(0)
