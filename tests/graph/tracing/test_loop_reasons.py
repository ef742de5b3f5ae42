"""Why a loop isn't one operation, by its source."""

import pytest

from lamella.graph.tracing.loop_reasons import reason_at

SOURCE = """\
def function(x):
    for i in range(3):
        x = x + 1
        while x > 0:
            x = x - 1
            if x > 5:
                break
        y = x
        if x > 7:
            print(x)
            break
    for i in x:
        return i
    for i in x:
        x = 1
    else:
        x = 2
    while x:
        if x > 1:
            raise ValueError
        x = x + 1
    while x:
        del y
    return x
"""


@pytest.mark.parametrize("line, loop, word, at", [
    (1, None, "", 0), (24, None, "", 0), (6, None, "", 0), (7, None, "", 0),
    (4, 4, "break", 7), (5, 4, "break", 7), (3, 2, "break", 11), (8, 2, "break", 11),
    (2, 2, "break", 11),
    (12, 12, "return", 13), (13, 12, "return", 13), (14, 14, "else", 17), (15, 14, "else", 17),
    (18, 18, "raise", 20), (21, 18, "raise", 20), (22, 22, "del", 23)])
def test_the_innermost_loop_around_a_line(line, loop, word, at, tmp_path):
    file = tmp_path / "program.py"
    file.write_text(SOURCE)
    found = reason_at(str(file), line)
    if loop is None:
        assert found == ""
    else:
        assert found == (f"; the loop in line {loop} would be one operation of a graph without its "
                         f"'{word}' in line {at}")


def test_what_is_no_program(tmp_path):
    file = tmp_path / "program.py"
    file.write_text("for x in (:\n")
    assert reason_at(str(file), 1) == "" == reason_at(str(tmp_path / "none.py"), 1)
