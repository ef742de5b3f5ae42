"""Pictures of the site's pages as a browser shows them: `make screenshots`.

Every page named below is opened at two widths, in the light and the dark scheme, and saved as
``build/screenshots/PAGE-WIDTH-SCHEME.png``. A page that logs an error, or whose contents are wider
than the window, ends the command with an error that names it.
"""

from __future__ import annotations

import argparse
import pathlib
import sys
import tempfile
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
from tests import browser as browsers

PAGES = ("", "tutorial/en/quickstart/", "tutorial/zh/quickstart/", "tutorial/en/pytorch/",
         "examples/",
         "benchmarks/", "status/", "differences/", "compiler/", "reliability/")
WIDTHS = {"phone": 420, "desk": 1320}
STILL = """const style = document.createElement('style');
style.textContent = '* { transition: none !important; animation: none !important }';
document.head.append(style);"""  # a picture would show the colours on their way
SCHEMES = {"light": "default", "dark": "slate"}


def take(browser: Any, page: pathlib.Path, out: pathlib.Path, name: str) -> list[str]:
    """Save a page's pictures; returns what is wrong with it."""
    wrong = []
    for width, pixels in WIDTHS.items():
        browser.set_window_size(pixels, 1000)
        browser.get(page.resolve().as_uri())
        browser.execute_script(STILL)
        for scheme, value in SCHEMES.items():
            browser.execute_script(
                "document.body.setAttribute('data-md-color-scheme', arguments[0])", value)
            browser.save_screenshot(str(out / f"{name}-{width}-{scheme}.png"))
        too_wide = browser.execute_script(
            "return document.documentElement.scrollWidth - window.innerWidth")
        if too_wide > 0:
            wrong.append(f"{name} is {too_wide} pixels wider than a window of {pixels}")
    # pages of a folder can't fetch their search index: only a server's can
    return wrong + [f"{name} logs {message}" for message in browsers.console_messages(browser)
                    if "search" not in message and "file://" not in message]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--site", type=pathlib.Path, default=pathlib.Path("build/docs"))
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("build/screenshots"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    wrong = []
    with (tempfile.TemporaryDirectory() as profile,
          browsers.running(pathlib.Path(profile)) as browser):
        for page in PAGES:
            name = page.strip("/").replace("/", "-") or "home"
            wrong += take(browser, options.site / page / "index.html", options.out, name)
    print("\n".join(wrong) or f"{len(PAGES)} pages, pictures in {options.out}")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
