"""The paths under which programs import `mint`, and that its own files are none of them."""

import importlib

import lamella.alias
import pytest

from lamella import mint


@pytest.fixture(autouse=True)
def alias():
    was = lamella.alias.installed()
    lamella.alias.install()
    yield
    if not was:
        lamella.alias.uninstall()


@pytest.mark.parametrize(("path", "name", "room"), [
    ("mint", "cat", mint), ("mint.nn", "Conv2d", mint.nn), ("mint.nn.functional", "pad",
                                                            mint.nn.functional),
    ("mint.nn.layer.conv", "Conv2d", mint.nn), ("mint.nn.layer.normalization", "GroupNorm",
                                                mint.nn),
    ("mint.optim", "AdamW", mint.optim), ("mint.optim.adamw", "AdamW", mint.optim),
    ("mint.linalg", "inv", mint.linalg), ("mint.special", "exp2", mint.special),
])
def test_path(path, name, room):
    assert getattr(importlib.import_module(f"mindspore.{path}"), name) is getattr(room, name)


@pytest.mark.parametrize("path", ["mint.reduce", "mint.nn.image", "mint.random"])
def test_own_files(path):
    with pytest.raises(ModuleNotFoundError, match="does not have"):
        importlib.import_module(f"mindspore.{path}")


@pytest.mark.parametrize(("path", "name", "function"), [
    ("ops", "baddbmm_ext", mint.baddbmm), ("ops.function.array_func", "stack_ext", mint.stack),
    ("ops.auto_generate", "softmax_ext", mint.nn.functional.softmax),
])
def test_names_among_ops(path, name, function):
    assert getattr(importlib.import_module(f"mindspore.{path}"), name) is function


def test_all_names_among_ops_exist():
    from lamella.mint import extended

    assert all(callable(getattr(extended, name)) for name in dir(extended))
    with pytest.raises(AttributeError, match="no attribute 'sqrt_ext'"):
        _ = extended.sqrt_ext
