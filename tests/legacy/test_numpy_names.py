"""Names of NumPy 1 under ``lamella run``."""

from __future__ import annotations

import subprocess
import sys
import warnings

import numpy as np
import pytest

from lamella.legacy import numpy_names


def test_programs_that_are_run_have_the_names_and_a_warning(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("import numpy as np\n"
                       "print(np.bool8 is np.bool_, np.int is int, np.NaN, np.product([2, 3]),\n"
                       "      np.zeros(2, np.float).dtype, hasattr(np, 'misspelled'))\n")
    done = subprocess.run([sys.executable, "-m", "lamella", "run", str(program)],
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "True True nan 6 float64 False\n"
    assert "np.int is no part of NumPy 2; use int." in done.stderr
    assert f"{program}:2" in done.stderr


def test_each_name_has_its_successor(monkeypatch):
    monkeypatch.setattr(np, "__getattr__", np.__getattr__)
    numpy_names.offer()
    for name, now in numpy_names._NOW.items():
        if name not in vars(np):
            with pytest.warns(DeprecationWarning, match=f"np.{name} is no part"):
                given = getattr(np, name)
            assert given is (getattr(np, now) if isinstance(now, str) else now)


def test_a_library_leaves_numpy_as_it_is():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert not hasattr(np, "int0") and not hasattr(np, "float")
