"""The version of MindSpore that programs see."""

import pickle

import pytest

from lamella.core.versions import asked_version, older_than

from ..zygote import run as python


@pytest.mark.parametrize("earlier", ["1.9", "2", "2.2", "2.3.1", "2.9.9", "2.9rc1"])
def test_it_is_compared_by_its_numbers(earlier):
    now = asked_version()
    assert now > earlier and now >= earlier and not now < earlier and not now <= earlier
    assert earlier < now and earlier <= now and not earlier > now and not earlier >= now


def test_versions_at_it_and_after_it():
    now = asked_version()
    assert now >= "2.10" and now <= "2.10.0" and not now < "2.10" and not now > "2.10.0"
    assert now < "2.10.1" and now < "2.11" and "3" > now and sorted(["2.9", now, "2.11"])[1] is now


def test_otherwise_it_is_text():
    now = asked_version()
    assert now == "2.10.0" and hash(now) == hash("2.10.0") and now != "2.10"
    assert now < "unknown" and now.split(".")[1] == "10" and f"{now}" == "2.10.0"
    assert pickle.loads(pickle.dumps(now)) == now
    with pytest.raises(TypeError, match="not supported"):
        assert now < 2  # type: ignore[operator]


def test_what_programs_compare(monkeypatch, tmp_path):
    script = tmp_path / "program.py"
    script.write_text("""
import mindspore as ms
from mindspore import version

@ms.jit
def scaled(x):
    return x * 2 if version.__version__ >= "2.2" else x

print(version.__version__ >= "2.2", ms.__version__ < "2.3", scaled(ms.Tensor([1.0])))
""")
    assert python("-m", "lamella", "run", script).stdout == "True False [2.]\n"
    monkeypatch.setenv("LAMELLA_MINDSPORE", "2.3")
    assert asked_version() >= "2.3" and not older_than("2.3") and older_than("2.4")
