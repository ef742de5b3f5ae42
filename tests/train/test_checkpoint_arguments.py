"""Which names checkpoints have, inside and out: endings, prefixes, functions, other formats."""

import io
import os

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import Parameter, Tensor, nn

NAMES = ["a.w", "a.b", "ab.w", "c.w"]


def saved(folder, form="ckpt"):
    path = str(folder / f"net.{form}")
    ms.save_checkpoint([Parameter(float(n), name=name) for n, name in enumerate(NAMES)], path,
                       format=form)
    return path


@pytest.mark.parametrize("form", ["ckpt", "safetensors"])
@pytest.mark.parametrize("options, wanted", [
    ({}, {n: n for n in NAMES}), ({"filter_prefix": "a"}, {"c.w": "c.w"}),
    ({"filter_prefix": "a."}, {n: n for n in ("ab.w", "c.w")}),
    ({"filter_prefix": ["a.w", "c"]}, {n: n for n in ("a.b", "ab.w")}),
    ({"specify_prefix": ("a.", "c")}, {n: n for n in ("a.w", "a.b", "c.w")}),
    ({"specify_prefix": "a", "filter_prefix": "ab"}, {n: n for n in ("a.w", "a.b")}),
    ({"choice_func": lambda name: name.endswith("w")}, {n: n for n in ("a.w", "ab.w", "c.w")}),
    ({"choice_func": lambda name: name.upper() if name[0] == "a" else None},
     {"a.w": "A.W", "a.b": "A.B", "ab.w": "AB.W"}),
    ({"choice_func": lambda name: False, "specify_prefix": "c"}, {"c.w": "c.w"})])
def test_names_that_are_read(tmp_path, form, options, wanted):
    found = ms.load_checkpoint(saved(tmp_path, form), format=form, **options)
    assert {name: float(p) for name, p in found.items()} == {
        new: NAMES.index(old) for old, new in wanted.items()}
    assert all(parameter.name == name for name, parameter in found.items())


@pytest.mark.parametrize("has", [True, False])
@pytest.mark.parametrize("asks", [True, False])
@pytest.mark.parametrize("form", ["ckpt", "safetensors"])
def test_a_checksum_that_is_missing_is_warned_of(tmp_path, form, asks, has, capfd):
    path = str(tmp_path / f"net.{form}")
    ms.save_checkpoint([Parameter(1.0, name="w")], path, format=form, crc_check=has)
    assert list(ms.load_checkpoint(path, crc_check=asks, format=form)) == ["w"]
    assert ("has no checksum to compare" in capfd.readouterr().err) is (asks and not has)


@pytest.mark.parametrize("error", [KeyError, TypeError, RuntimeError, OverflowError])
@pytest.mark.parametrize("form", ["ckpt", "safetensors"])
def test_errors_of_the_function_that_chooses_are_its_own(tmp_path, form, error):
    def choose(name):
        raise error("mine")

    with pytest.raises(error, match="mine") as raised:
        ms.load_checkpoint(saved(tmp_path, form), choice_func=choose, format=form)
    assert raised.type is error


@pytest.mark.parametrize("options, error, words", [
    ({"filter_prefix": ""}, ValueError, "'filter_prefix' must not be empty"),
    ({"filter_prefix": []}, ValueError, "'filter_prefix' must not be empty"),
    ({"specify_prefix": ["a", ""]}, ValueError, "'specify_prefix' must not be empty"),
    ({"specify_prefix": [1]}, TypeError, "'specify_prefix' must be a str"),
    ({"filter_prefix": {"a"}}, TypeError, "'filter_prefix' must be a str"),
    ({"choice_func": 1}, TypeError, "'choice_func' must be a function"),
    ({"choice_func": lambda name: "z"}, ValueError, "'a.w' and 'a.b' would both .* name 'z'"),
    ({"choice_func": lambda name: None}, ValueError, "holds none of the names"),
    ({"specify_prefix": "z"}, ValueError, "holds none of the names"),
    ({"strict_load": 1}, TypeError, "strict_load"), ({"crc_check": None}, TypeError, "crc_check"),
    ({"remove_redundancy": 0}, TypeError, "remove_redundancy"),
    ({"dec_key": b"k"}, NotImplementedError, "'dec_key' must be None"),
    ({"format": "zip"}, ValueError, "'format' must be 'ckpt' or 'safetensors'"),
    ({"format": "safetensors"}, ValueError, "Give format='ckpt'")])
def test_what_is_not_read(tmp_path, options, error, words):
    with pytest.raises(error, match=words):
        ms.load_checkpoint(saved(tmp_path), **options)


@pytest.mark.parametrize("name, error, words", [
    ("net.pth", ValueError, "looks like a file of PyTorch's"), ("net.bin", ValueError, "PyTorch"),
    ("net.pt", ValueError, "PyTorch"),
    ("net.txt", ValueError, "Give format='ckpt' or 'safetensors'"),
    ("net.safetensors", ValueError, "Give format='safetensors'"),
    ("none.ckpt", ValueError, "there is no file"), (3, TypeError, "must be a str, but got 3")])
def test_files_of_other_names(tmp_path, name, error, words):
    path = str(tmp_path / name) if isinstance(name, str) else name
    with pytest.raises(error, match=words):
        ms.load_checkpoint(path)


def test_a_file_in_memory(tmp_path):
    with open(saved(tmp_path, "safetensors"), "rb") as file:
        memory = io.BytesIO(file.read())
    assert set(ms.load_checkpoint(memory, format="safetensors")) == set(NAMES)
    with pytest.raises(TypeError, match="a BytesIO must hold a safetensors file"):
        ms.load_checkpoint(memory)


@pytest.mark.parametrize("form, name, wanted", [
    ("ckpt", "a.ckpt", "a.ckpt"), ("ckpt", "a", "a.ckpt"), ("ckpt", "a.b", "a.b.ckpt"),
    ("safetensors", "a", "a.safetensors"), ("safetensors", "a.ckpt", "a.ckpt.safetensors"),
    ("safetensors", "a.safetensors", "a.safetensors")])
def test_files_get_the_ending_of_their_format(tmp_path, form, name, wanted):
    ms.save_checkpoint([Parameter(1.0, name="w")], str(tmp_path / name), format=form)
    assert os.listdir(tmp_path) == [wanted]


class Named:
    def __init__(self, state):
        self.state = state

    def get_state(self):
        return self.state


@pytest.mark.parametrize("given, wanted", [
    ({"w": Parameter(1.0, name="other")}, {"w": 1.0}), ({"w": Tensor([1, 2])}, {"w": [1, 2]}),
    ({"w": np.array([3])}, {"w": [3]}), ({"w": "text"}, {"w": "text"}),
    ([{"name": "w", "data": np.array(2)}, {"name": "t", "data": "x"}], {"w": 2, "t": "x"}),
    ((Parameter(2.0, name="p"),), {"p": 2.0}),
    (nn.Dense(1, 1, "ones", "zeros"), {"weight": [[1.0]], "bias": [0.0]})])
def test_what_can_be_saved(tmp_path, given, wanted):
    path = str(tmp_path / "a.ckpt")
    ms.save_checkpoint(given, path, append_dict={"n": 3, "b": True, "s": "y", "g": Named(4.5)})
    found = {name: value if isinstance(value, str) else value.asnumpy().tolist()
             for name, value in ms.load_checkpoint(path).items()}
    assert found == {**wanted, "n": 3, "b": True, "s": "y", "g": 4.5}
    chosen = next(iter(wanted))
    ms.save_checkpoint(given, path, choice_func=lambda name: "new" if name == chosen else None)
    assert list(ms.load_checkpoint(path)) == ["new"]


TWICE = [Parameter(1.0, name="w"), Parameter(2.0, name="w")]


@pytest.mark.parametrize("given, options, error, words", [
    (3, {}, TypeError, "'save_obj' must be a Cell, a list or a dict"),
    ([3], {}, TypeError, "a list must hold Parameters or dicts"),
    ([{"name": "w"}], {}, TypeError, "a list must hold"),
    ([{"name": 1, "data": Tensor(1)}], {}, TypeError, "a list must hold"),
    ([{"name": "w", "data": 1}], {}, TypeError, "a list must hold"),
    ({1: Tensor(1)}, {}, TypeError, "a dict must hold Parameters"),
    ({"w": 1}, {}, TypeError, "a dict must hold Parameters"),
    (TWICE, {}, ValueError, "two values have the name 'w'"),
    ([], {"append_dict": {"a": [1]}}, TypeError, "'append_dict' must hold numbers"),
    ([], {"append_dict": {1: 1}}, TypeError, "'append_dict' must hold numbers"),
    ([], {"append_dict": [1]}, TypeError, "append_dict"),
    ([], {"async_save": "later"}, ValueError, "'thread' or 'process', but got 'later'"),
    ([], {"async_save": 1}, TypeError, "async_save"),
    ([], {"integrated_save": 1}, TypeError, "integrated_save"),
    ([], {"crc_check": 1}, TypeError, "crc_check"),
    ([], {"enc_key": b"k"}, NotImplementedError, "'enc_key' must be None"),
    ([], {"format": "zip"}, ValueError, "'format' must be 'ckpt' or 'safetensors'")])
def test_what_can_not_be_saved(tmp_path, given, options, error, words):
    with pytest.raises(error, match=words):
        ms.save_checkpoint(given, str(tmp_path / "a.ckpt"), **options)
    assert os.listdir(tmp_path) == []


def test_places_that_are_no_file(tmp_path):
    with pytest.raises(IsADirectoryError, match="must be a file"):
        ms.save_checkpoint([], str(tmp_path))
    with pytest.raises(TypeError, match="'ckpt_file_name' must be a str"):
        ms.save_checkpoint([], 3)
    # of two that are one there is only one value
    one = Parameter(1.0, name="w")
    ms.save_checkpoint([one, one], str(tmp_path / "a.ckpt"))
    assert float(ms.load_checkpoint(str(tmp_path / "a.ckpt"))["w"]) == 1


@pytest.mark.parametrize("how", [True, "thread"])
def test_what_is_saved_in_the_background_is_as_it_was(tmp_path, how):
    value = Parameter(Tensor(np.zeros(1000, np.float32)), name="w")
    path = str(tmp_path / "a.ckpt")
    ms.save_checkpoint([value], path, async_save=how)
    value._raw.detach().add_(1)
    assert torch.equal(ms.load_checkpoint(path)["w"]._raw.detach(), torch.zeros(1000))
    assert not ms.async_ckpt_thread_status()
    for form in ("ckpt", "safetensors"):
        assert set(ms.load_checkpoint_async(saved(tmp_path, form)).result()) == set(NAMES)
