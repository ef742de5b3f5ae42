"""Names of MindSpore 2.0 to 2.9, as programs import them."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import lamella as ms
from lamella.commands import cli
from lamella.core import versions
from lamella.legacy import names

from ..zygote import run as python


def run(tmp_path: Path, program: str, *options: str, **variables: str):
    file = tmp_path / "program.py"
    file.write_text(program)
    return python("-m", "lamella", "run", *options, file, env={**os.environ, **variables})


@pytest.mark.parametrize("path", [*names.MODULES])
def test_each_place_of_the_table_is_there(path):
    for place in names.MODULES[path]:
        __import__(f"lamella.{place}")


@pytest.mark.parametrize(("owner", "wanted"), [
    (owner, wanted) for owner, table in names.NAMES.items() for wanted in table])
def test_each_name_of_the_table_is_there(owner, wanted):
    assert names.name(owner, wanted) is not None


def test_old_programs_import_what_they_know(tmp_path):
    done = run(tmp_path, """
import sys
import mindspore
# only the table of names and NumPy's old ones are loaded before one is asked for
loaded = {name for name in sys.modules if name.startswith("lamella.legacy.")}
assert loaded <= {f"lamella.legacy.{n}" for n in (
    "names", "numpy_conversions", "numpy_names")}, loaded
from mindspore import ms_function, ops
from mindspore._checkparam import Rel, Validator
from mindspore.common.api import ms_function as again
from mindspore.dataset import context
from mindspore.dataset.engine import config
from mindspore.dataset.vision import py_transforms
from mindspore.nn.metrics.metric import Metric
from mindspore.nn.wrap.loss_scale import grad_scale
from mindspore.ops import P
from mindspore.profiler.profiling import Profiler
from mindspore.train.serialization import context as same
import mindspore.dataset.transforms.c_transforms as C
import mindspore.dataset.vision.c_transforms as CV
import mindspore.dataset as ds
assert ms_function is again is mindspore.jit
assert context is same is mindspore.context
assert config.get_seed is ds.config.get_seed
assert P.Add is ops.Add and Metric is mindspore.train.Metric
assert C.OneHot is ds.transforms.OneHot and CV.RandomCropDecodeResize
assert py_transforms.Decode().to_pil and not CV.Decode(True).to_pil
assert Validator.check_int(3, 2, Rel.GE, "n") == 3
try:
    from mindspore.dataset.transforms import d_transforms
except ImportError as error:
    assert "d_transforms" in str(error)
else:
    raise AssertionError
ms_function
mindspore.ms_function
""", GLOG_v="1")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("mindspore.ms_function is mindspore.jit") == 1
    assert "mindspore.nn.metrics.metric was moved to mindspore.train.metrics" in done.stderr


def test_the_version_that_programs_see(tmp_path):
    program = """
import mindspore, importlib.metadata
print(mindspore.__version__, importlib.metadata.version("mindspore"))
"""
    done = run(tmp_path, program, "--mindspore", "2.3", LAMELLA_MINDSPORE="2.2.14")
    assert done.stdout == "2.3.0 2.3.0\n", done.stderr


@pytest.mark.parametrize(("arguments", "message"), [
    (["run", "--mindspore", "3", "program.py"], "from 2.0 to 2.10, such as '2.3', but is '3'"),
    (["run", "--mindspore=2.11", "program.py"], "from 2.0 to 2.10, such as '2.3', but is '2.11'"),
    (["run", "--mindspore", "2.3"], "needs a version, such as 2.3, and a program"),
])
def test_wrong_versions_are_refused(arguments, message, monkeypatch, capsys):
    monkeypatch.setenv("LAMELLA_MINDSPORE", "")
    with pytest.raises(SystemExit) as stopped:
        cli.main(arguments)
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err


def test_older_than_compares_numbers_not_letters(monkeypatch):
    monkeypatch.setenv("LAMELLA_MINDSPORE", "2.3.1")
    assert versions.asked_version() == "2.3.1"
    assert versions.older_than("2.10") and versions.older_than("2.4")
    assert not versions.older_than("2.3") and not versions.older_than("2.3.1")
    monkeypatch.setenv("LAMELLA_MINDSPORE", "1.9")
    with pytest.raises(ValueError, match="from 2.0 to 2.10"):
        versions.asked_version()


def test_nothing_is_said_of_a_misspelled_name():
    assert names.module("dataset.vision.d_transforms") is None
    assert names.name("nn", "ResizeBilinaer") is None


def test_the_c_decoder_has_no_bgr(tmp_path):
    from lamella.legacy.vision_c import Decode

    with pytest.raises(ValueError, match="'rgb' must be True"):
        Decode(rgb=False)


def test_py_transforms_take_channels_first():
    from lamella.legacy import vision_py as py

    image = np.random.default_rng(0).random((3, 8, 6), np.float32)
    mean, std = np.float32([0.1, 0.2, 0.3]), np.float32([0.5, 0.6, 0.7])
    expected = (image - mean[:, None, None]) / std[:, None, None]
    np.testing.assert_allclose(py.Normalize(mean.tolist(), std.tolist())(image), expected,
                               rtol=1e-5, atol=1e-6)
    padded = py.NormalizePad(mean.tolist(), std.tolist())(image)
    assert padded.shape == (4, 8, 6) and not padded[3].any()
    np.testing.assert_array_equal(py.RgbToBgr()(image), image[::-1])
    cut = py.Cutout(4)(image + 1)
    assert cut.shape == image.shape and (cut == 0).any() and not (cut == 0).all()
    with pytest.raises(ValueError, match="with 3 channels"):
        py.RgbToBgr()(image[:2])
    assert py.is_numpy(image) and not py.is_pil(image)
    assert ms.jit is names.name("common", "ms_function")


def test_the_class_below_tensor_makes_one_from_a_type_and_a_shape():
    base = names.name("_c_expression", "Tensor")
    made = base(ms.int8, [2, 3])
    assert type(made) is ms.Tensor and made.dtype == ms.int8 and made.shape == (2, 3)
    assert type(base([1.0])) is ms.Tensor and base(ms.Tensor(2.0)) == 2
    assert isinstance(ms.Parameter(ms.Tensor(1.0)), base) and not isinstance(np.ones(1), base)
