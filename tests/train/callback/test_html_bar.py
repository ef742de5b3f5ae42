"""Bars of notebooks: the HTML that is shown, and how it changes in its place."""

import io
import re

import IPython.display
import pytest
from tqdm import tqdm

from lamella.train.callback import progress
from lamella.train.callback.html_bar import HtmlBar


class Place:
    """Stands for a notebook's output: keeps what is shown in one place of it."""

    def __init__(self):
        self.seen = []

    def display(self, shown, display_id=None):
        assert display_id is True
        self.seen.append(shown.data)
        return self

    def update(self, shown):
        self.seen.append(shown.data)


@pytest.fixture
def place(monkeypatch):
    made = Place()
    monkeypatch.setattr(IPython.display, "display", made.display)
    return made


def test_what_is_shown(place):
    bar = HtmlBar(total=4, unit="step", desc="epoch <1> & more", miniters=1, mininterval=0)
    assert len(place.seen) == 1 and "epoch &lt;1&gt; &amp; more:   0% <progress" in place.seen[0]
    assert "<progress value='0' max='4' style=" in place.seen[0]
    assert "</progress> 0/4 [00:00&lt;?, ?step/s]</div>" in place.seen[0]
    bar.update(3)
    assert "value='3' max='4'" in place.seen[-1] and "</progress> 3/4 [" in place.seen[-1]
    bar.set_postfix(loss="<2>")
    assert "loss=&lt;2&gt;" in place.seen[-1] and " 75% " in place.seen[-1]
    assert not any("|" in each for each in place.seen)
    bar.update(1)
    bar.close()
    count = len(place.seen)
    assert "value='4' max='4'" in place.seen[-1]
    bar.close()
    assert len(place.seen) == count  # it is closed already


def test_a_bar_of_no_known_length(place):
    bar = HtmlBar(unit="step", miniters=1, mininterval=0)
    bar.update(2)
    assert re.search(r"<progress style='[^']*'></progress> 2/. .*step", bar.as_html())
    bar.close()


@pytest.mark.parametrize("leave", [False, True])
def test_whether_it_stays(place, leave):
    bar = HtmlBar(total=2, leave=leave)
    bar.close()
    assert (place.seen[-1] != "") is leave


@pytest.mark.parametrize("notebook, file, wanted", [
    (True, None, HtmlBar), (False, None, tqdm), (True, io.StringIO(), tqdm),
    (False, io.StringIO(), tqdm)], ids=range(4))
def test_which_bar_is_drawn_where(monkeypatch, notebook, file, wanted):
    monkeypatch.setattr(progress, "in_notebook", lambda: notebook)
    assert progress._bar_class(file) is wanted


@pytest.mark.parametrize("rank, first", [(None, True), ("", True), ("0", True), ("1", False),
                                         ("10", False)])
@pytest.mark.parametrize("notebook", [False, True])
def test_a_notebook_of_the_first_process_shows_one(monkeypatch, rank, first, notebook):
    monkeypatch.setattr(progress, "in_notebook", lambda: notebook)
    monkeypatch.setattr("sys.stderr", io.StringIO())
    monkeypatch.delenv("RANK_ID", raising=False)
    if rank is not None:
        monkeypatch.setenv("RANK_ID", rank)
    own = object()
    found = progress.with_progress([own], None, "Model.train")
    assert found[0] is own and len(found) == 1 + (first and notebook)
