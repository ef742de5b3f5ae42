"""A headless Chromium, for tests of the pages that reports write."""

from __future__ import annotations

import contextlib
import pathlib
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--disable-dev-shm-usage", "--window-size=1320,1000")
NAMES = ("chromium", "chromium-browser", "google-chrome")


@contextlib.contextmanager
def running(folder: pathlib.Path) -> Iterator[Any]:
    """A browser with its own profile in `folder`; skips the test if no browser is installed."""
    webdriver = pytest.importorskip("selenium.webdriver")
    chromium = next(filter(None, map(shutil.which, NAMES)), None)
    driver = shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("Chromium and chromedriver are not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in (*FLAGS, f"--user-data-dir={folder}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    try:
        yield browser
    finally:
        browser.quit()


def opened(browser: Any, path: pathlib.Path) -> Any:
    """The browser with a page open, which logged no error and loaded nothing else."""
    browser.get(path.resolve().as_uri())
    assert console_messages(browser) == []
    loaded = browser.execute_script(
        "return performance.getEntriesByType('resource').map(e => e.name)")
    assert [name for name in loaded if not name.startswith("data:")] == []
    return browser


def console_messages(browser: Any) -> list[str]:
    """What the page has written to the console."""
    return [entry["message"] for entry in browser.get_log("browser")]


def texts(browser: Any, selector: str) -> list[str]:
    """The texts of the elements that a CSS selector finds."""
    return browser.execute_script(
        "return [...document.querySelectorAll(arguments[0])].map(e => e.textContent)", selector)


def click(browser: Any, selector: str, number: int = 0) -> None:
    """Click an element; drawings' parts too."""
    browser.execute_script(
        "document.querySelectorAll(arguments[0])[arguments[1]].dispatchEvent("
        "new MouseEvent('click', {bubbles: true}))", selector, number)
