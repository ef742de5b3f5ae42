"""save_checkpoint, load_checkpoint and the conversions, as programs use them."""

import io
import os
import pathlib
import signal
import stat
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import lamella as ms
from lamella import nn
from lamella.train import atomic_file, background, checkpoint
from lamella.train.safetensors_format import write_safetensors

from ..zygote import run as python

DATA = pathlib.Path(__file__).parent.parent / "data"


class Scaled(nn.Cell):
    """A Parameter of its own, a buffer-like one, and a Cell below."""

    def __init__(self, inner=None, value=0.0):
        super().__init__()
        self.scale = ms.Parameter(ms.Tensor([value, value + 1]), name="scale")
        self.count = ms.Parameter(ms.Tensor(int(value), ms.int32), name="count",
                                  requires_grad=False)
        if inner is not None:
            self.inner = inner


def numbers(parameters):
    return {k: v if isinstance(v, str) else v.asnumpy().tolist() for k, v in parameters.items()}


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "a.ckpt")


# -- forms of save_obj ---------------------------------------------------------------------------


@pytest.mark.parametrize("format", ["ckpt", "safetensors"])
def test_a_network_comes_back(tmp_path, format):
    path = str(tmp_path / f"net.{format}")
    ms.save_checkpoint(Scaled(Scaled(value=3.0), value=1.0), path, format=format)
    net = Scaled(Scaled())
    loaded = ms.load_checkpoint(path, net, format=format)
    assert numbers(loaded) == {"scale": [1.0, 2.0], "count": 1, "inner.scale": [3.0, 4.0],
                               "inner.count": 3}
    assert numbers(net.parameters_dict()) == numbers(loaded)
    assert loaded["count"].dtype == ms.int32 and loaded["count"].name == "count"


def test_forms_of_save_obj(path):
    net = Scaled(value=2.0)
    forms = {
        "trainable": (net.trainable_params(), {"scale": [2.0, 3.0]}),
        "list of dicts": ([{"name": "a", "data": ms.Tensor(1)}, {"name": "b", "data": net.count}],
                          {"a": 1, "b": 2}),
        "dict": ({"p": net.scale, "t": ms.Tensor([1.5]), "n": np.ones(2), "s": "text"},
                 {"p": [2.0, 3.0], "t": [1.5], "n": [1.0, 1.0], "s": "text"}),
        "tuple": (ms.ParameterTuple([net.scale]), {"scale": [2.0, 3.0]}),
    }
    for name, (form, expected) in forms.items():
        ms.save_checkpoint(form, path)
        assert numbers(ms.load_checkpoint(path)) == expected, name
    ms.save_checkpoint(ms.load_checkpoint(path), path)
    assert numbers(ms.load_checkpoint(path)) == {"scale": [2.0, 3.0]}


@pytest.mark.parametrize("bad", [3, "x", ms.Tensor(1), {1: ms.Tensor(1)}, {"a": 1}, [ms.Tensor(1)],
                                 {"a": {"b": ms.Tensor(1)}}, [{"name": 1, "data": ms.Tensor(1)}],
                                 [{"name": "a", "data": 1}], [{"name": "a"}], [[ms.Tensor(1)]]])
def test_other_forms_are_refused(path, bad):
    with pytest.raises(TypeError, match="For 'save_checkpoint'"):
        ms.save_checkpoint(bad, path)
    assert not os.path.exists(path)


def test_two_parameters_of_one_name_are_refused(path):
    a, b = (ms.Parameter(ms.Tensor([v]), name="z") for v in (1.0, 2.0))
    with pytest.raises(ValueError, match="two values have the name 'z'"):
        ms.save_checkpoint([a, b], path)
    ms.save_checkpoint([a, a], path)
    assert numbers(ms.load_checkpoint(path)) == {"z": [1.0]}


def test_append_dict(path):
    more = {"epoch": 5, "lr": 0.25, "done": True, "note": "ä", "t": ms.Tensor([1, 2]),
            "p": ms.Parameter(ms.Tensor([3.0]), name="q")}
    ms.save_checkpoint([ms.Parameter(1.0, name="w")], path, append_dict=more)
    loaded = ms.load_checkpoint(path)
    assert numbers(loaded) == {"w": 1.0, "epoch": 5, "lr": 0.25, "done": True, "note": "ä",
                               "t": [1, 2], "p": [3.0]}
    assert [str(loaded[k].dtype) for k in ("epoch", "lr", "done")] == ["Int64", "Float32", "Bool"]
    for bad in ({"a": [1]}, {"a": None}, {1: 2}, [1], {"a": np.ones(2)}):
        with pytest.raises(TypeError, match="append_dict"):
            ms.save_checkpoint([], path, append_dict=bad)


def test_appended_values_replace_no_parameter(path):
    net = nn.Dense(2, 1)
    with pytest.raises(ValueError, match="'append_dict' has 'weight', which is the name of a"):
        ms.save_checkpoint(net, path, append_dict={"epoch": 1, "weight": 2})
    ms.save_checkpoint(net, path, append_dict={"epoch": 1})
    ms.save_checkpoint(ms.load_checkpoint(path), path, append_dict={"epoch": 2})
    found = ms.load_checkpoint(path)
    assert int(found["epoch"]) == 2 and found["weight"].shape == (1, 2)


def test_text_survives_safetensors(tmp_path):
    path = str(tmp_path / "a.safetensors")
    ms.save_checkpoint({"s": "ö", "w": ms.Tensor(1)}, path, format="safetensors")
    assert numbers(ms.load_checkpoint(path, format="safetensors")) == {"s": "ö", "w": 1}


def test_shared_memory_and_views_in_safetensors(tmp_path):
    w = ms.Tensor([[1.0, 2.0], [3.0, 4.0]])
    path = str(tmp_path / "a.safetensors")
    ms.save_checkpoint({"w": w, "again": w, "t": w.T, "row": w[0]}, path, format="safetensors")
    assert numbers(ms.load_checkpoint(path, format="safetensors")) == {
        "again": [[1, 2], [3, 4]], "row": [1, 2], "t": [[1, 3], [2, 4]], "w": [[1, 2], [3, 4]]}
    with pytest.raises(TypeError, match="complex128"):
        ms.save_checkpoint({"c": ms.Tensor([1j], ms.complex128)}, path, format="safetensors")


# -- arguments -----------------------------------------------------------------------------------


def test_the_ending_is_added(tmp_path):
    w = [ms.Parameter(1.0, name="w")]
    ms.save_checkpoint(w, str(tmp_path / "a"))
    ms.save_checkpoint(w, str(tmp_path / "b.x"))
    ms.save_checkpoint(w, tmp_path / "c", format="safetensors")
    assert sorted(os.listdir(tmp_path)) == ["a.ckpt", "b.x.ckpt", "c.safetensors"]


@pytest.mark.parametrize("arguments, error", [
    ({"ckpt_file_name": 3}, TypeError), ({"format": "pt"}, ValueError),
    ({"async_save": "later"}, ValueError), ({"async_save": 1}, TypeError),
    ({"integrated_save": 1}, TypeError), ({"crc_check": 1}, TypeError),
    ({"enc_key": b"0" * 16}, NotImplementedError)])
def test_wrong_arguments_of_save(path, arguments, error):
    with pytest.raises(error, match="For 'save_checkpoint'"):
        ms.save_checkpoint(**{"save_obj": [], "ckpt_file_name": path, **arguments})


def test_folders(tmp_path):
    with pytest.raises(IsADirectoryError, match="is a directory"):
        ms.save_checkpoint([], str(tmp_path))
    with pytest.raises(FileNotFoundError):
        ms.save_checkpoint([], str(tmp_path / "missing" / "a.ckpt"))


@pytest.mark.parametrize("arguments, error, match", [
    ({"ckpt_file_name": "/no/such.ckpt"}, ValueError, "there is no file"),
    ({"ckpt_file_name": 3}, TypeError, "must be a str"),
    ({"ckpt_file_name": io.BytesIO()}, TypeError, "safetensors"),
    ({"ckpt_file_name": str(DATA / "dtypes.safetensors")}, ValueError, "must end in the format"),
    ({"format": "pt"}, ValueError, "'format'"), ({"filter_prefix": 3}, TypeError, "filter_prefix"),
    ({"filter_prefix": ""}, ValueError, "empty"), ({"specify_prefix": []}, ValueError, "empty"),
    ({"specify_prefix": "nope"}, ValueError, "none of the names"),
    ({"choice_func": lambda name: False}, ValueError, "none of the names"),
    ({"strict_load": 1}, TypeError, "strict_load"), ({"dec_key": b"1"}, NotImplementedError, "dec"),
    ({"net": 3}, TypeError, "must be a Cell")])
def test_wrong_arguments_of_load(arguments, error, match):
    with pytest.raises(error, match=match):
        ms.load_checkpoint(**{"ckpt_file_name": str(DATA / "net.ckpt"), **arguments})


@pytest.mark.parametrize("arguments, names", [
    ({"filter_prefix": ["seq", "out"]}, ["scale", "frozen"]),
    ({"specify_prefix": "out"}, ["out.weight", "out.bias"]),
    ({"specify_prefix": ("out", "scale"), "filter_prefix": "out.w"}, ["scale", "out.bias"]),
    ({"choice_func": lambda n: n.startswith("out")}, ["out.weight", "out.bias"]),
    # a prefix overrides choice_func, as in MindSpore
    ({"choice_func": lambda n: n.startswith("out"), "filter_prefix": ("seq", "out")},
     ["scale", "frozen"]),
    ({"choice_func": lambda n: n == "scale" and "new"}, ["new"])])
def test_choosing_what_to_load(arguments, names):
    loaded = ms.load_checkpoint(str(DATA / "net.ckpt"), **arguments)
    assert list(loaded) == names and [p.name for p in loaded.values()] == names


def test_choosing_what_to_save(path):
    choose = {"scale": "SCALE", "count": False}.get
    ms.save_checkpoint(Scaled(value=1.0), path, choice_func=choose)
    assert list(ms.load_checkpoint(path)) == ["SCALE"]


def test_file_in_memory():
    data = io.BytesIO((DATA / "crc.safetensors").read_bytes())
    assert "int8.v" in ms.load_checkpoint(data, format="safetensors")
    with pytest.raises(ValueError, match="BytesIO"):
        ms.load_checkpoint(io.BytesIO(b"nonsense"), format="safetensors")


def test_checkpoint_of_a_network_and_its_optimizer():
    loaded = ms.load_checkpoint(str(DATA / "train.ckpt"))
    assert len(loaded) == 28
    assert loaded["global_step"].asnumpy().tolist() == [1]
    assert loaded["learning_rate"].shape == () and float(loaded["learning_rate"]) == np.float32(.01)
    # Adam's first step from zero: moment2 = 0.001 g^2, moment1 = 0.1 g
    m1, m2 = (loaded[f"moment{i}.out.weight"].asnumpy() for i in (1, 2))
    np.testing.assert_allclose(m2, 0.1 * m1**2, rtol=1e-4)


# -- files ---------------------------------------------------------------------------------------


def test_a_crash_leaves_the_old_file(path, monkeypatch):
    ms.save_checkpoint([ms.Parameter(1.0, name="w")], path)

    def crash(name, value):
        yield b"\x0a"
        raise OSError("disk full")

    monkeypatch.setattr("lamella.train.checkpoint_format._pieces", crash)
    with pytest.raises(OSError, match="disk full"):
        ms.save_checkpoint([ms.Parameter(2.0, name="w")], path)
    assert numbers(ms.load_checkpoint(path)) == {"w": 1.0}
    assert os.listdir(os.path.dirname(path)) == ["a.ckpt"]


def test_both_formats_have_the_usual_permissions(tmp_path):
    (tmp_path / "plain").touch()
    for format in ("ckpt", "safetensors"):
        ms.save_checkpoint([], str(tmp_path / "a"), format=format)
        assert (tmp_path / f"a.{format}").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_symbolic_links_are_followed(tmp_path):
    (tmp_path / "link.ckpt").symlink_to(tmp_path / "real.ckpt")
    ms.save_checkpoint([ms.Parameter(1.0, name="w")], str(tmp_path / "link.ckpt"))
    assert (tmp_path / "link.ckpt").is_symlink() and (tmp_path / "real.ckpt").is_file()


@pytest.mark.parametrize("format", ["ckpt", "safetensors"])
def test_the_name_of_a_link_decides_about_the_format(tmp_path, format):
    link, blob = tmp_path / f"m.{format}", tmp_path / "blob0123"
    ms.save_checkpoint([ms.Parameter(1.0, name="w")], str(link), format=format)
    link.rename(blob)
    link.symlink_to(blob.name)
    assert numbers(ms.load_checkpoint(str(link), format=format)) == {"w": 1.0}
    ms.save_checkpoint([ms.Parameter(2.0, name="w")], str(link), format=format)
    assert numbers(ms.load_checkpoint(str(link), format=format)) == {"w": 2.0}
    assert sorted(os.listdir(tmp_path)) == ["blob0123", link.name] and link.is_symlink()


def test_a_device_is_written_to_and_stays(tmp_path):
    (tmp_path / "a.ckpt").symlink_to("/dev/full")
    with pytest.raises(OSError, match="a.ckpt' can't be written: No space left"):
        ms.save_checkpoint([ms.Parameter(1.0, name="w")], str(tmp_path / "a.ckpt"))
    assert stat.S_ISCHR(os.stat("/dev/full").st_mode) and os.listdir(tmp_path) == ["a.ckpt"]


def test_a_link_to_nowhere_is_named(tmp_path):
    (tmp_path / "a.ckpt").symlink_to("no-such-folder/blob")
    with pytest.raises(FileNotFoundError, match="a.ckpt'$"):
        ms.save_checkpoint([ms.Parameter(1.0, name="w")], str(tmp_path / "a.ckpt"))
    assert os.listdir(tmp_path) == ["a.ckpt"]


def test_what_killed_saves_left_is_removed(tmp_path):
    program = ("import os, signal, sys\nfrom lamella.train.atomic_file import replacing\n"
               "with replacing(sys.argv[1]) as new:\n"
               "    open(new, 'w').close()\n    os.kill(os.getpid(), signal.SIGKILL)\n")
    for name in ("a.ckpt", "b.ckpt"):
        assert python("-c", program, tmp_path / name).returncode == -signal.SIGKILL
    left = os.listdir(tmp_path)
    assert len(left) == 2
    mine = tmp_path / f".a.ckpt.{atomic_file._host()}.{os.getpid()}-999.tmp"
    elsewhere = tmp_path / ".a.ckpt.another-host.999999999-0.tmp"
    for file in (mine, elsewhere):
        file.touch()
    ms.save_checkpoint([ms.Parameter(1.0, name="w")], str(tmp_path / "a.ckpt"))
    of_b = next(name for name in left if name.startswith(".b"))
    assert sorted(os.listdir(tmp_path)) == sorted([of_b, mine.name, elsewhere.name, "a.ckpt"])


def test_replacing_removes_what_failed(tmp_path):
    with pytest.raises(KeyError), atomic_file.replacing(str(tmp_path / "a")) as new:
        pathlib.Path(new).write_text("x")
        raise KeyError
    assert os.listdir(tmp_path) == []


def test_a_file_that_cannot_be_read(tmp_path):
    (tmp_path / "a.ckpt").mkdir()
    with pytest.raises(ValueError, match="can't be read"):
        ms.load_checkpoint(str(tmp_path / "a.ckpt"))


# -- in the background ---------------------------------------------------------------------------


def test_a_program_whose_last_save_failed_ends_with_status_1(tmp_path):
    (tmp_path / "a.ckpt").symlink_to("/dev/full")
    program = ("import sys, lamella as ms\nprint('before')\n"
               "ms.save_checkpoint([ms.Parameter(1.0, name='w')], sys.argv[1], async_save=True)\n")
    done = python("-c", program, tmp_path / "a.ckpt")
    assert done.returncode == 1 and done.stdout == "before\n"
    assert "with async_save failed: [Errno 28]" in done.stderr


@pytest.mark.parametrize("kind", [True, "thread", "process"])
def test_async_save_has_the_values_of_the_call(path, kind, monkeypatch):
    started, go = threading.Event(), threading.Event()
    write = checkpoint._write

    def slow(*args):
        started.set()
        assert go.wait(120)
        write(*args)

    monkeypatch.setattr(checkpoint, "_write", slow)
    w = ms.Parameter(ms.Tensor([1.0, 2.0]), name="w")
    ms.save_checkpoint([w], path, async_save=kind)
    assert started.wait(120) and ms.async_ckpt_thread_status()
    w.set_data(ms.Tensor([5.0, 5.0]))
    assert not os.path.exists(path)
    go.set()
    background.wait()
    assert numbers(ms.load_checkpoint(path)) == {"w": [1.0, 2.0]}
    assert not ms.async_ckpt_thread_status()


def test_two_threads_wait_for_one_async_save(path):
    go = threading.Event()
    background.start(path, go.wait)
    waits = [threading.Thread(target=background.wait) for _ in range(2)]
    for thread in waits:
        thread.start()
        thread.join(0.1)
        assert thread.is_alive() and background.busy()
    go.set()
    for thread in waits:
        thread.join(60)
    assert not any(thread.is_alive() for thread in waits) and not background.busy()


def test_async_saves_of_several_threads(tmp_path):
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)

    def save(number):
        path = str(tmp_path / f"{number}.ckpt")
        for _ in range(10):
            ms.save_checkpoint([ms.Parameter(float(number), name="w")], path, async_save=True)
        return float(ms.load_checkpoint(path)["w"].asnumpy())

    try:
        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(save, range(4))) == [0, 1, 2, 3]
    finally:
        sys.setswitchinterval(before)


def test_load_waits_for_async_save(path):
    ms.save_checkpoint({"w": ms.Tensor(np.zeros((500, 500)))}, path, async_save=True)
    assert ms.load_checkpoint(path)["w"].shape == (500, 500)


def test_the_error_of_an_async_save_is_raised_later(path, monkeypatch, capfd):
    def fail(*args):
        raise OSError("disk full")

    monkeypatch.setattr(checkpoint, "_write", fail)
    ms.save_checkpoint([], path, async_save=True)
    with pytest.raises(RuntimeError, match="a.ckpt.*disk full"):
        ms.save_checkpoint([], path)
    assert "disk full" in capfd.readouterr().err


def test_the_program_waits_for_async_save(tmp_path):
    path = str(tmp_path / "a.ckpt")
    program = ("import lamella as ms, time; from lamella.train import checkpoint as c\n"
               "w = c._write\n"
               "c._write = lambda *a: (time.sleep(0.3), w(*a))\n"
               f"ms.save_checkpoint([ms.Parameter(1.0, name='w')], {path!r}, async_save=True)")
    assert python("-c", program).returncode == 0
    assert numbers(ms.load_checkpoint(path)) == {"w": 1.0}


def test_load_checkpoint_async():
    net = Scaled()
    future = ms.load_checkpoint_async(str(DATA / "append.ckpt"), net)
    assert float(future.result(120)["lr"]) == 0.25
    with pytest.raises(ValueError, match="no file"):
        ms.load_checkpoint_async("/no/such.ckpt").result(120)


# -- conversions ---------------------------------------------------------------------------------


def test_conversions(tmp_path):
    source = tmp_path / "net.ckpt"
    source.write_bytes((DATA / "net.ckpt").read_bytes())
    out = str(tmp_path / "out")
    ms.ckpt_to_safetensors(str(source), out, name_map={"scale": "SCALE"})
    loaded = ms.load_checkpoint(f"{out}/net.safetensors", format="safetensors")
    expected = numbers(ms.load_checkpoint(str(source)))
    expected["SCALE"] = expected.pop("scale")
    assert numbers(loaded) == expected
    with pytest.raises(ValueError, match="'scale' and 'frozen' would both have the name 'frozen'"):
        ms.ckpt_to_safetensors(str(source), str(tmp_path / "none"), name_map={"scale": "frozen"})
    assert not (tmp_path / "none").exists()
    ms.safetensors_to_ckpt(f"{out}/net.safetensors")
    assert numbers(ms.load_checkpoint(f"{out}/net.ckpt")) == expected


def test_conversion_of_folders(tmp_path):
    for rank in (0, 1):
        (tmp_path / f"rank_{rank}").mkdir()
        ms.save_checkpoint([ms.Parameter(float(rank), name="w")], str(tmp_path / f"rank_{rank}/a"))
    ms.ckpt_to_safetensors(str(tmp_path), str(tmp_path / "out"), file_name_regex="rank_1")
    assert [str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*.safetensors")] == [
        "out/rank_1/a.safetensors"]


@pytest.mark.parametrize("arguments", [
    {"file_path": "/no/such"}, {"file_path": str(DATA / "crc.safetensors")},
    {"file_path": str(DATA)}, {"file_path": str(DATA / "net.ckpt"), "save_path": "a.txt"},
    {"file_path": str(DATA / "net.ckpt"), "name_map": 3}])
def test_wrong_arguments_of_conversions(arguments):
    with pytest.raises(ValueError, match="For 'ckpt_to_safetensors'"):
        ms.ckpt_to_safetensors(**arguments)


def test_remove_redundancy_is_kept_in_the_metadata(tmp_path):
    path = str(tmp_path / "a.safetensors")
    write_safetensors(path, {}, remove_redundancy=True)
    assert b'"remove_redundancy":"True"' in pathlib.Path(path).read_bytes()


def test_saving_is_fast_enough_for_many_parameters(path):
    many = {f"layer.{i}.weight": ms.Tensor([float(i)]) for i in range(3000)}
    start = time.process_time()
    ms.save_checkpoint(many, path)
    assert len(ms.load_checkpoint(path)) == 3000
    assert time.process_time() - start < 10


def test_choice_func_must_be_a_function(tmp_path):
    w = ms.Parameter(ms.Tensor([1.0]), name="w")
    with pytest.raises(TypeError, match="'choice_func'.*3"):
        ms.save_checkpoint([{"name": "w", "data": w}], str(tmp_path / "a.ckpt"), choice_func=3)
    assert not list(tmp_path.iterdir())
