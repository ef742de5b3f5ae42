"""The facts that the doctor reports, and what it makes of them."""

import json

import pytest
import torch

import lamella
from lamella.commands import doctor
from lamella.machine import extension


def test_facts_are_this_process():
    found = doctor.facts()
    assert found["packages"]["lamella"] == lamella.__version__
    assert torch.__version__.startswith(found["packages"]["torch"])  # "+cu126" is left out
    assert found["cpu"]["threads"] == torch.get_num_threads()
    assert found["cpu"]["cores"] >= 1
    assert found["gpu"]["available"] is torch.cuda.is_available()
    assert json.loads(json.dumps(found)) == found


def facts(**changes):
    found = {"python": {}, "packages": {"mindspore": None},
             "cpu": {"blas": "MKL", "mkldnn": True, "capability": "AVX512", "threads": 2,
                     "cores": 2},
             "gpu": {"available": False}, "compiler": {"c++": "/usr/bin/c++"},
             "cache": {"folder": "/home/someone/.cache/lamella", "usable": True}}
    for key, value in changes.items():
        found[key] = {**found[key], **value}
    return found


@pytest.mark.parametrize("changes, sentence", [
    ({}, "PyTorch sees no GPU"),
    ({}, "MKL multiplies matrices, oneDNN convolves, with AVX512 instructions on 2 threads."),
    ({"gpu": {"available": True, "devices": ["A GPU"]}}, "set_device('GPU') puts them on A GPU"),
    ({"cpu": {"threads": 8}}, "set OMP_NUM_THREADS=2"),
    ({"cpu": {"threads": 1, "mkldnn": False, "blas": None}}, "PyTorch multiplies matrices, with"),
    ({"compiler": {"c++": None}}, "no C++ compiler"),
    ({"packages": {"mindspore": "2.10.0"}}, "MindSpore 2.10.0 is installed"),
    ({"cache": {"folder": None}}, "are not kept (LAMELLA_CACHE)"),
    ({"cache": {"usable": False, "why not": "others may write to it"}}, "others may write to it."),
])
def test_advice(changes, sentence):
    assert sentence in " ".join(doctor.advice(facts(**changes)))


def test_advice_is_silent_about_what_is_well():
    assert len(doctor.advice(facts())) == 2


def test_the_cache_and_the_variables(monkeypatch, tmp_path):
    tmp_path.chmod(0o700)
    monkeypatch.setenv("LAMELLA_CACHE", str(tmp_path))
    monkeypatch.setenv("LAMELLA_CACHE_MIB", "50")
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "file").write_bytes(bytes(2**20))
    found = doctor.facts()
    assert found["cache"] == {"folder": str(tmp_path), "usable": True, "why not": None,
                              "MiB": 1.0, "most MiB": 50.0}
    assert found["variables"]["LAMELLA_CACHE_MIB"] == "50"
    monkeypatch.setenv("LAMELLA_CACHE", "0")
    assert doctor.facts()["cache"] == {"folder": None}


def test_the_compiler_is_looked_for(monkeypatch):
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setattr(extension.shutil, "which",
                        lambda name: f"/bin/{name}" if name == "g++" else None)
    assert doctor.facts()["compiler"]["c++"] == "/bin/g++"


def test_run_check_speaks(capsys):
    doctor.run_check()
    assert capsys.readouterr().out.endswith("(CPU) works.\n")


def test_run_check_fails_on_wrong_sums(monkeypatch):
    monkeypatch.setattr(lamella.Tensor, "__matmul__", lambda a, b: a)
    with pytest.raises(RuntimeError, match="computes wrongly"):
        doctor.run_check()


def test_the_compiler_is_the_one_that_is_used(monkeypatch):
    assert doctor.facts()["compiler"]["c++"] == extension.compiler()
    monkeypatch.setenv("CXX", "no-such-compiler")
    assert doctor.facts()["compiler"]["c++"] is None
