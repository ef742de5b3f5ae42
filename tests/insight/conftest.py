"""Tests of pages: whatever a test does in the browser, the page logs no error."""

from __future__ import annotations

import pytest

from ..browser import console_messages


@pytest.fixture(autouse=True)
def no_errors(request):
    yield
    if "browser" in request.fixturenames:
        assert console_messages(request.getfixturevalue("browser")) == []
