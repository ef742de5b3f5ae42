"""Names of NumPy 1 under ``lamella run``."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from lamella.legacy import numpy_names

from ..zygote import run as python


def test_programs_that_are_run_have_the_names_and_a_warning(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("import numpy as np\n"
                       "print(np.bool8 is np.bool_, np.int is int, np.NaN, np.product([2, 3]),\n"
                       "      np.zeros(2, np.float).dtype, hasattr(np, 'misspelled'))\n")
    done = python("-m", "lamella", "run", program)
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


def test_what_has_no_name_any_more(monkeypatch):
    monkeypatch.setattr(np, "__getattr__", np.__getattr__)
    numpy_names.offer()
    with pytest.warns(DeprecationWarning, match="np.math is no part of NumPy 2; use the module"):
        assert np.math.sqrt(4) == 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert (np.NINF, np.PINF, np.PZERO) == (-np.inf, np.inf, 0)
        assert np.asscalar(np.array([3])) == 3 and np.mat([[1, 2]]).shape == (1, 2)
        assert np.in1d([[1, 2]], [2], invert=True).tolist() == [True, False]
        assert np.msort([[2, 0], [1, 3]]).tolist() == [[1, 0], [2, 3]]
        assert np.cast["float32"]([1]).dtype == np.float32 and np.nbytes[np.int16] == 2
        assert np.asfarray([1]).dtype == np.float64
        assert np.asfarray([1], np.float32).dtype == np.float32
        assert np.find_common_type([np.float32], [np.int64, np.float64]) == np.float32
        assert np.find_common_type([np.int32], [np.float32]) == np.float32
        assert np.find_common_type([], [np.int32]) == np.int32
        assert np.float32 in np.sctypes["float"] and np.maximum_sctype(np.int8) is np.int64
        assert np.obj2sctype("f4") is np.float32 and np.sctype2char(np.float32) == "f"
        assert np.issubsctype(np.int32, np.integer) and np.typeDict["float32"] is np.float32
        assert np.issubclass_(np.int32, np.integer) and not np.issubclass_(1, int)


PROGRAM = """
import math
import warnings

import numpy as np

class Mine(np.ndarray):
    pass

print("%f %d" % (np.array([1.5]), np.array([[3]])), float(np.array([2])), int(np.array([[2.7]])),
      math.sqrt(np.array([4.0])), float(np.array(5.5)), int(np.ones(1).view(Mine)),
      complex(np.array([[2.5]]), 1))
for wrong in (np.ones(2), np.ones(0), np.ones((2, 1))):
    for kind in (float, int, "%f".__mod__):
        try:
            kind(wrong)
        except TypeError as error:
            print(type(error).__name__, end=" ")
try:
    float(np.array(["text"]))
except ValueError:
    print("ValueError")
x = np.arange(3, dtype=np.int16)
x.itemset(1, 7); x.itemset((2,), 8)
print(x.tolist(), x.ptp(), x.newbyteorder().tolist(), x.tostring() == x.tobytes())
y = np.zeros((2, 2), int)
y.itemset((0, 1), 7); y.itemset(1, 0, 9)
print(y.tolist())
with warnings.catch_warnings():
    warnings.simplefilter("error")
    print(float(np.array(1.5)), int(np.float32(2)), float(np.float64(3)))
"""


def test_arrays_of_one_element_are_numbers_in_a_program_that_is_run(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    done = python("-m", "lamella", "run", program)
    assert done.returncode == 0, done.stderr
    assert done.stdout == (
        "1.500000 3 2.0 2 2.0 5.5 1 (2.5+1j)\n" + "TypeError " * 9
        + "ValueError\n[0, 7, 8] 8 [0, 1792, 2048] True\n[[0, 7], [9, 0]]\n1.5 2 3.0\n")
    if np.lib.NumpyVersion(np.__version__) >= "2.4.0":
        assert f"{program}:10: DeprecationWarning: NumPy 2 converts only arrays of rank 0 to a " \
               "number; write float(array.item())." in done.stderr


def test_a_compiled_program_converts_them_too(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("""
import mindspore as ms
import numpy as np
scale = np.array([2.0])
step = ms.jit(lambda x: x * float(scale))
print(*[step(ms.Tensor([n])).tolist() for n in (1.0, 2.0, 3.0)])
scale = np.array([3.0])
print(step(ms.Tensor([1.0])).tolist())
""")
    done = python("-W", "ignore", "-m", "lamella", "run", program)
    assert done.stdout == "[2.0] [4.0] [6.0]\n[3.0]\n", done.stderr


def test_a_library_leaves_numpy_as_it_is():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert not hasattr(np, "int0") and not hasattr(np, "float")
