"""`import mindspore` means Lamella after install(), and nothing of it stays after uninstall()."""

import importlib
import importlib.metadata
import importlib.util
import logging
import re
import sys
import textwrap
import threading
from types import ModuleType

import numpy as np
import pytest

import lamella
from lamella import _checkparam as validator
from lamella import alias, log

from ..zygote import run as python


@pytest.fixture
def mindspore():
    alias.install()
    yield importlib.import_module("mindspore")
    alias.uninstall()


def run(code, **kwargs):
    return python("-c", textwrap.dedent(code), bare=True, **kwargs)


def test_objects_are_lamellas_own(mindspore):
    assert mindspore.Tensor is lamella.Tensor
    assert mindspore.nn.Cell is lamella.nn.Cell
    assert mindspore.ops.grad is lamella.ops.grad
    assert mindspore.context.set_context is lamella.set_context
    assert mindspore.float32 is mindspore.dtype.float32 is mindspore.common.dtype.float32


def test_versions(mindspore):
    from mindspore.version import __version__ as version

    assert mindspore.__version__ == version == "2.10.0"
    assert lamella.__version__ != version
    assert importlib.metadata.version("mindspore") == version
    assert importlib.util.find_spec("mindspore") is not None


@pytest.mark.parametrize("path, name", [
    ("common.tensor", "Tensor"), ("common.parameter", "Parameter"), ("common.dtype", "float32"),
    ("common.initializer", "initializer"), ("common", "Tensor"), ("common", "dtype"),
    ("nn.cell", "Cell"), ("ops.primitive", "Primitive"), ("ops.primitive", "constexpr"),
    ("ops.composite", "GradOperation"),
    ("ops.operations.nn_ops", "Primitive"), ("ops._primitive_cache", "_get_cache_prim"),
    ("train._utils", "_make_directory"), ("_c_expression.typing", "Float"),
    ("nn.loss.loss", "__all__"), ("nn.optim.optimizer", "Optimizer"),
    ("context", "get_context"), ("log", "warning"), ("dataset.audio.utils", "MelType"),
    ("dataset", "set_seed"), ("mint", "Tensor"),
    ("experimental.optim.adamw", "AdamW"), ("mindrecord.filewriter", "FileWriter"),
    ("hal.memory", "memory_stats"), ("runtime.stream", "Stream"),
    ("nn.probability.distribution.beta", "Beta"), ("nn.probability.bijector.bijector", "Bijector"),
    ("_checkparam", "check_positive_int"), ("common.api", "Tensor"), ("train", "__doc__"),
    ("train._utils", "check_value_type"), ("train.model", "ParallelMode"),
    ("train.amp", "_auto_black_list"), ("common.api", "_function_forbid_reuse"),
    ("train.summary.summary_record", "_get_summary_tensor_data"), ("mint", "functional"),
    ("ops.function.nn_func", "linear"), ("ops.function.nn_func", "_interploate_ext_make_tuple"),
    ("dataset.vision.py_transforms_util", "is_numpy"), ("_checkparam", "twice_sequence"),
    ("ops.auto_generate.gen_ops_def", "ACosGrad"), ("ops.auto_generate.gen_ops_def", "ScalarAdd"),
])
def test_paths_of_mindspore(mindspore, path, name):
    module = importlib.import_module(f"mindspore.{path}")
    assert getattr(module, name) is not None
    assert module.__name__ == f"mindspore.{path}"


def test_pythons_own_modules_are_shown(mindspore):
    from mindspore.log import logging as shown

    assert shown is logging


def test_submodules_need_no_import_of_their_own(mindspore):
    assert mindspore.ops.operations.nn_ops.Primitive is lamella.ops.Primitive
    assert "nn" in dir(mindspore) and "operations" in dir(mindspore.ops)


def test_a_function_wins_over_the_submodule_of_its_name(mindspore):
    importlib.import_module("mindspore.common.tensor")
    assert mindspore.common.tensor is lamella.tensor
    importlib.import_module("mindspore.train.data_sink")
    assert not isinstance(getattr(mindspore.train, "data_sink", None), ModuleType)
    importlib.import_module("mindspore.scipy.optimize.linear_sum_assignment")
    assert not isinstance(mindspore.scipy.optimize.linear_sum_assignment, ModuleType)


@pytest.mark.parametrize("path", ["alias", "errors", "ops.arithmetic", "nn.dense", "train.nothing"])
def test_lamellas_own_layout_is_no_path_of_mindspore(mindspore, path):
    with pytest.raises(ModuleNotFoundError, match=f"does not have 'mindspore.{path}'"):
        importlib.import_module(f"mindspore.{path}")


def test_star_import_of_primitives_brings_only_classes(mindspore):
    names = {}
    exec("from mindspore.ops.operations import *", names)
    assert "Primitive" in names
    assert "grad" not in names and "abs" not in names


@pytest.mark.parametrize("path, names", [
    ("dataset.engine", "GeneratorDataset MnistDataset PKSampler"), ("common", "Tensor dtype"),
    ("dataset.engine.datasets", "MnistDataset"),
    ("dataset.vision.c_transforms", "Decode Resize SoftDvppDecodeResizeJpeg")])
def test_star_imports_of_packages_bring_what_is_imported_late(mindspore, path, names):
    found = {}
    exec(f"from mindspore.{path} import *", found)
    assert set(names.split()) <= found.keys()


def test_replacing_a_name_stays_in_the_alias(mindspore):
    mindspore.nn.Cell = int
    assert mindspore.nn.Cell is int
    assert lamella.nn.Cell is not int
    mindspore.mutable = len  # there is a submodule of that name, too
    assert mindspore.mutable is len


@pytest.mark.parametrize("statement, error, message", [
    ("import mindspore; mindspore.Tenso", AttributeError,
     r"does not have 'mindspore.Tenso'. The nearest name it has is 'mindspore.Tensor'"),
    ("from mindspore import Tenso", ImportError, r"nearest name it has is 'mindspore.Tensor'"),
    ("from mindspore.nn import Tensor", ImportError,
     r"does not have 'mindspore.nn.Tensor'. It has 'mindspore.Tensor'"),
    ("import mindspore.no_room.at_all", ModuleNotFoundError, r"does not have 'mindspore.no_room'"),
    ("from mindspore import no_room", ImportError, r"Lamella .* does not have 'mindspore.no_room'"),
    ("import mindspore.ops.no_such_file", ModuleNotFoundError, r"'mindspore.ops.no_such_file'"),
])
def test_a_missing_name_says_so_and_names_the_nearest(mindspore, statement, error, message):
    with pytest.raises(error, match=message):
        exec(statement, {})


def test_dir_lists_only_what_is_there(mindspore):
    assert "no_room" not in dir(mindspore)
    for name in dir(mindspore):
        assert hasattr(mindspore, name), name


def test_probing_for_names_works(mindspore):
    assert not hasattr(mindspore, "no_such_name")
    assert getattr(mindspore.nn, "no_such_name", 3) == 3
    assert importlib.util.find_spec("mindspore.no_room") is None
    assert importlib.util.find_spec("mindspore.nn") is not None


def test_install_while_another_thread_imports():
    done, interval = threading.Event(), sys.getswitchinterval()

    def load_modules():
        while not done.is_set():
            for i in range(50):
                sys.modules[f"made_up_{i}"] = ModuleType(f"made_up_{i}")
            for i in range(50):
                del sys.modules[f"made_up_{i}"]

    thread = threading.Thread(target=load_modules)
    sys.setswitchinterval(1e-6)
    try:
        thread.start()
        for _ in range(50):
            alias.install()
            alias.uninstall()
    finally:
        done.set()
        sys.setswitchinterval(interval)
        thread.join()


def test_install_twice_and_uninstall_twice():
    alias.install()
    alias.install()
    assert sum(type(f).__name__ == "_Finder" for f in sys.meta_path) == 1
    assert alias.installed()
    alias.uninstall()
    alias.uninstall()
    assert not alias.installed()
    assert not [m for m in sys.modules if m.split(".")[0] == "mindspore"]


def test_the_real_package_comes_back(tmp_path, monkeypatch):
    (tmp_path / "mindspore").mkdir()
    (tmp_path / "mindspore" / "__init__.py").write_text("kind = 'real'\n")
    (tmp_path / "mindspore" / "nn.py").write_text("kind = 'real nn'\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    real = importlib.import_module("mindspore")
    try:
        alias.install()
        assert importlib.import_module("mindspore").Tensor is lamella.Tensor
        alias.uninstall()
        assert importlib.import_module("mindspore") is real
        assert importlib.import_module("mindspore.nn").kind == "real nn"
    finally:
        alias.uninstall()
        for name in ("mindspore", "mindspore.nn"):
            sys.modules.pop(name, None)


def test_lamella_is_unchanged_by_the_alias():
    code = """
        import lamella, lamella.alias, lamella.dtype, sys
        def state():
            return {(m, n): id(v) for m, module in list(sys.modules.items())
                    if m.split(".")[0] == "lamella" for n, v in vars(module).items()}
        before = state()
        lamella.alias.install()
        import mindspore.nn.layer.basic, mindspore.ops.operations, mindspore.common.tensor
        lamella.alias.uninstall()
        after = state()
        changed = {k for k in before | after if before.get(k) != after.get(k)}
        print(sorted(k for k in changed if not k[1].startswith("_") and k[0] != "lamella.alias"))
    """
    result = run(code)
    assert result.stdout == "[]\n", result.stderr


def test_pytest_plugin(tmp_path):
    (tmp_path / "conftest.py").write_text("import mindspore.nn\n")
    (tmp_path / "test_it.py").write_text(
        "import mindspore\n\ndef test():\n    assert mindspore.__version__ == '2.10.0'\n")
    result = python("-W", "error", "-m", "pytest", "-q", "-p", "lamella.alias", "-p",
                    "no:cacheprovider", tmp_path, cwd=tmp_path)
    assert "1 passed" in result.stdout, result.stdout + result.stderr


def test_pytest_plugin_runs_tests_as_under_numpy_1(tmp_path):
    (tmp_path / "test_it.py").write_text(
        "import numpy as np, pytest\n\n@pytest.mark.parametrize('kind', [np.bool_, np.int8, 3])\n"
        "def test(kind):\n    assert np.NINF == -np.inf and float(np.ones((1, 1))) == 1\n")
    # the plugin goes when pytest ends, which may run inside a program
    program = ("import numpy as np, pytest; status = pytest.main(['-v', '-p', 'lamella.alias', "
               "'-p', 'no:cacheprovider', '.'])\nprint(int(status))\n"
               "for old in (lambda: np.NINF, lambda: float(np.ones((1, 1)))):\n"
               "    try:\n        old()\n"
               "    except (AttributeError, TypeError) as error:\n        print(error)\n")
    result = python("-c", program, cwd=tmp_path)
    assert "\n0\n" in result.stdout, result.stdout + result.stderr
    assert re.findall(r"::(test\[.*?\]) PASSED", result.stdout) == [
        "test[bool_]", "test[int8]", "test[3]"]
    if np.lib.NumpyVersion(np.__version__) >= "2.4.0":
        assert "np.NINF is no part of NumPy 2; use -np.inf." in result.stdout
        assert "`np.NINF` was removed" in result.stdout
        assert "only 0-dimensional arrays can be converted" in result.stdout


# -- mindspore.log ---------------------------------------------------------------------------------


def test_log_shows_from_the_level_on(capsys):
    log.warning("loss is %s", "nan")
    log.info("not shown")
    shown = capsys.readouterr().err
    assert shown.count("\n") == 1
    assert shown.startswith("[WARNING] ME(") and shown.endswith("] loss is nan\n")
    assert "test_alias.py:" in shown


def test_log_level_comes_from_the_environment():
    result = run("from lamella import log; log.info('shown'); print(log.get_level())",
                 env={"GLOG_v": "1", "PATH": "/usr/bin:/bin"})
    assert result.stdout == "1\n" and "[INFO] ME(" in result.stderr


def test_log_action_once():
    class Logger:
        said = []

        def warning(self, text):
            self.said.append(text)

    logger = Logger()

    @log._LogActionOnce(logger, key="a test's key")
    def act():
        logger.warning("again")
        return 3

    assert [act(), act()] == [3, 3]
    assert logger.said == ["again"]


# -- small modules that programs reach for ---------------------------------------------------------


def test_primitives_are_cached_by_their_arguments():
    from lamella.ops._primitive_cache import _get_cache_prim

    class Scale(lamella.ops.Primitive):
        def __init__(self, by, axes=()):
            super().__init__("Scale")
            self.by = by

    make = _get_cache_prim(Scale)
    assert make(2) is make(2) and make(2, axes=[1]) is make(2, axes=[1])
    assert make(2) is not make(2.0) and make(1) is not make(True)
    assert make(2.0).by == 2.0


def test_make_directory(tmp_path):
    from lamella.train._utils import _make_directory

    wanted = tmp_path / "a" / "b"
    assert _make_directory(str(wanted)) == str(wanted.resolve()) == _make_directory(str(wanted))
    assert wanted.is_dir()
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError, match="'directory' must be a folder"):
        _make_directory(str(tmp_path / "file"), "directory")
    with pytest.raises(TypeError, match="but got ''"):
        _make_directory("")


# -- mindspore._checkparam: values and error types are those of MindSpore 2.10 ---------------------

MS = lamella


@pytest.mark.parametrize("name, args, result", [
    ("check_positive_int", (3, "n", "Dense"), 3),
    ("check_positive_int", (0, "n", "Dense"), ValueError),
    ("check_positive_int", (True, "n", "Dense"), TypeError),
    ("check_positive_int", (1.5, "n"), TypeError),
    ("check_non_negative_int", (-1, "n"), ValueError),
    ("check_negative_int", (-1,), -1),
    ("check_non_positive_int", (1,), ValueError),
    ("check_is_int", (3,), 3),
    ("check_equal_int", (3, 4, "n"), ValueError),
    ("check_int", (3, 4, validator.GE), ValueError),
    ("check_int", (3, 4, validator.LT), 3),
    ("check_int_range", (5, 0, 5, validator.INC_LEFT, "n"), ValueError),
    ("check_int_range", (5, 0, 5, validator.INC_RIGHT, "n"), 5),
    ("check_positive_int_sequence", ((1, 2), "s"), (1, 2)),
    ("check_positive_int_sequence", ((1, 0), "s"), ValueError),
    ("check_non_negative_int_sequence", ([0], "s"), [0]),
    ("check_non_negative_int_sequence", (0, "s"), TypeError),
    ("twice", (3,), (3, 3)),
    ("twice_sequence", ([1, 2],), (1, 2)),
    ("triple", ((1, 2),), TypeError),
    ("once", (True,), TypeError),
    ("check_bool", (1, "b"), TypeError),
    ("check_bool", (True,), True),
    ("check_is_float", (1, "f"), TypeError),
    ("check_float", (1.0, 0.0, validator.GT), 1.0),
    ("check_float_range", (0.5, 0, 1, validator.INC_LEFT), 0.5),
    ("check_float_range", (1.0, 0, 1, validator.INC_LEFT), ValueError),
    ("check_float_range", (0.0, 0, 1, validator.INC_NEITHER), ValueError),
    ("check_float_range", (1, 0, 1, validator.INC_BOTH), TypeError),
    ("check_positive_float", (0.0,), ValueError),
    ("check_positive_float", (1, "f"), TypeError),
    ("check_non_negative_float", (0.0,), 0.0),
    ("check_negative_float", (1.0,), ValueError),
    ("check_non_positive_float", (0.0,), 0.0),
    ("check_positive_float_sequence", ([0.5], "s"), [0.5]),
    ("check_number", ("a", 3, 4, validator.LT, "X"), 3),
    ("check_number", ("a", 3, 2, validator.LT, "X"), ValueError),
    ("check_is_number", (3, int), 3),
    ("check_number_range", (3, 0, 5, validator.INC_BOTH, int, "n"), 3),
    ("check", ("a", 3, "b", 4, validator.EQ, "X"), ValueError),
    ("check", ("a", 3, "b", 3, validator.EQ, "X"), 3),
    ("check", ("a", 3, "b", 3, validator.NE, "X"), ValueError),
    ("check", ("a", 3, "", (1, 2), validator.IN, "X", TypeError), TypeError),
    ("check", ("a", 3, "", (1, 2), validator.NOT_IN, "X"), 3),
    ("check", ("a", 3, "b", (1, 5), validator.INC_BOTH, "X"), 3),
    ("check_string", ("a", ["a", "b"], "s"), "a"),
    ("check_string", ("c", ["a", "b"], "s"), ValueError),
    ("check_isinstance", ("a", 3, str), ValueError),
    ("check_value_type", ("x", 3, [int, float], "X"), 3),
    ("check_value_type", ("x", "3", [int, float], "X"), TypeError),
    ("check_value_type", ("x", True, [int], "X"), TypeError),
    ("check_value_type", ("x", 3.0, (int, bool)), TypeError),
    ("check_type_name", ("t", MS.float32, [MS.float32, MS.float16], "X"), MS.float32),
    ("check_type_name", ("t", MS.int8, [MS.float32], "X"), TypeError),
    ("check_type_name", ("t", int, (int,), "X"), int),
    ("check_subclass", ("t", MS.float32, MS.number, "X"), None),
    ("check_subclass", ("t", MS.string, (MS.number,), "X"), TypeError),
    ("check_subclass", ("t", bool, int, "X"), None),
    ("check_subclass", ("t", MS.float16, MS.float32, "X"), TypeError),
    ("check_types_same_and_valid", ({"a": MS.float32, "b": MS.float32}, [MS.float32], "X"), None),
    ("check_types_same_and_valid",
     ({"a": MS.float32, "b": MS.float16}, [MS.float32, MS.float16], "X"), TypeError),
])
def test_validators(name, args, result):
    check = getattr(validator, name)
    if isinstance(result, type) and issubclass(result, Exception):
        with pytest.raises(result, match="but got"):
            check(*args)
    else:
        assert check(*args) == result


def test_args_type_check():
    @validator.args_type_check(x=(int, float), y=str)
    def scale(x, y="a"):
        return x

    assert scale(1, "b") == 1
    assert scale(1, None) == 1
    with pytest.raises(TypeError, match=r"'scale', the 'y' must be of type str, but got 2"):
        scale(1, 2)
    with pytest.raises(TypeError, match=r"the 'x' must be of type int or float"):
        scale("1")
