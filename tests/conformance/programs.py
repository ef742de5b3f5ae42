"""The programs of other packages in docs/conformance.md, installed and run: ``make programs``.

    python -m tests.conformance.programs [WORD ...] [--list]

What a row needs is installed from the package index, each package in a folder of its own under
``build/programs`` and without what it depends on, so that this Python's packages stay as they are.
Rows whose names have none of the words are left out. It takes an hour or two, and no other time
limit than `LIMIT` for each command. A table says how each row ended; logs are beside the packages.
Two rows need more: MINDSPORE, a Python that has MindSpore 2.10, for files that both sides read; and
a Python without Lamella, which is made where the environment variable ALONE names none.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import time
import venv
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
JOBS, PRETRAINING = HERE / "jobs", HERE / "pretraining"
PLACE = HERE.parents[1] / "build" / "programs"
LIMIT = 1800  # seconds

# what is installed into each folder; versions are those that the page was written with
PACKAGES = {
    "mindcv": "mindcv==0.3.0", "mindyolo": "mindyolo==0.5.0 pycocotools==2.0.11",
    "mindocr": "mindocr==0.5.0 lmdb==3.0.0 pyclipper==1.4.0 rapidfuzz==3.14.6 seqeval==1.2.2 "
               "shapely==2.2.0",
    "mindnlp": "mindnlp==0.4.0 pytest==7.4.4", "mindone": "mindone==0.5.0",
    "mindflow": "mindflow_gpu==0.2.0",
    "mindrl": "mindspore_rl==0.7.0 gym==0.26.2 gym_notices==0.1.0 astor==0.8.1 cloudpickle==3.1.3",
    "mindformers": "mindformers==1.9.0 mindpet==1.0.4 astunparse==1.6.3 cpm_kernels==1.0.11 "
                   "rouge_chinese==1.0.3 setproctitle==1.3.8 tensorboardx==2.6.5",
    "transformers": "transformers==4.57.1 tokenizers==0.22.1 huggingface_hub==0.36.0",
    "peft": "peft==0.17.1 accelerate==1.15.0",
    "diffusers": "diffusers==0.35.2 omegaconf==2.4.0",
    "shared": "addict==2.4.0 aiohappyeyeballs aiohttp aiosignal attrs charset_normalizer "
              "datasets==2.21.0 deprecated dill==0.3.8 easydict==1.14 evaluate==0.4.6 frozenlist "
              "hf_xet idna jieba==0.42.1 multidict multiprocess==0.70.16 nltk==3.10.4 "
              "pandas propcache pyarrow "
              "pyctcdecode==0.5.0 pygtrie pytz pyyaml regex requests sentencepiece tiktoken "
              "urllib3 wrapt xxhash yarl",
}
LANGUAGE = "gpt2 llama qwen2 qwen3 glm4 deepseek_v2 t5 bert clip whisper".split()
PARALLEL = ("use_parallel=true", "parallel.parallel_mode=1", "parallel.full_batch=true")


class Row(NamedTuple):
    """A row: packages by the names above, and commands that follow each other in one folder.

    A command begins with the number of processes if there are several, or with the path of another
    Python. ``$M`` and ``$A`` in it are MINDSPORE and the Python without Lamella.
    """

    packages: str
    commands: list[list[str]]


def job(name: str, *steps: str) -> list[list[str]]:
    """The commands of a job: one for each of its steps."""
    return [[str(JOBS / name), *step.split()] for step in steps or ("",)]


def pretraining(*settings: str, processes: int = 1) -> list[list[str]]:
    """The commands of MindFormers' training."""
    train = [str(PRETRAINING / "train.py"), str(PRETRAINING / "llama.yaml"), *settings]
    return [[str(PRETRAINING / "data.py")], [*([str(processes)] if processes > 1 else []), *train]]


FORMERS = "mindformers transformers"
ROWS = {
    "language models": Row("mindone transformers diffusers", [
        [str(HERE / "language_models.py"), *LANGUAGE]]),
    "LoRA, mindformers": Row(f"{FORMERS} peft", [
        [str(HERE / "adapters.py"), name] for name in ("mindformers", "mindformers-graph")]),
    "LoRA, mindnlp": Row("mindnlp transformers peft", [
        [str(HERE / "adapters.py"), "mindnlp"]]),
    "pretraining": Row(FORMERS, pretraining()),
    "pretraining, data parallel": Row(FORMERS, pretraining(
        "use_parallel=true", "runner_config.batch_size=2", "train_dataset.batch_size=2",
        processes=2)),
    "pretraining, tensor parallel": Row(FORMERS, pretraining(
        *PARALLEL, "parallel_config.model_parallel=2", processes=2)),
    "pretraining, optimizer parallel": Row(FORMERS, pretraining(
        *PARALLEL, "parallel_config.data_parallel=2", "parallel.enable_parallel_optimizer=true",
        processes=2)),
    "mindcv": Row("mindcv", job("mindcv_train.py", "train", "resume", "validate", "infer")),
    "mindnlp": Row("mindnlp transformers", job("mindnlp_bert.py")),
    "bert in pytorch": Row("transformers", job("bert_in_pytorch.py")),
    "mindone": Row("mindone transformers diffusers", job("mindone_diffusion.py")),
    "mindflow": Row("mindflow", job("mindflow_pinn.py")),
    "pinn in pytorch": Row("", job("pinn_in_pytorch.py")),
    "mindyolo": Row("mindyolo", job("mindyolo_detect.py", "train", "resume", "test", "predict")),
    "mindocr, det": Row("mindocr", job("mindocr_read.py", *(
        f"det {step}" for step in ("train", "resume", "eval", "predict")))),
    "mindocr, rec": Row("mindocr", job("mindocr_read.py", *(
        f"rec {step}" for step in ("train", "resume", "eval", "predict")))),
    "mindrl, dqn": Row("mindrl", job("mindrl_play.py", "dqn")),
    "mindrl, ppo": Row("mindrl", job("mindrl_play.py", "ppo")),
    "mindir both ways": Row("", [
        *job("mindir_both_ways.py", "write ours"),
        *(["$M", *call] for call in job("mindir_both_ways.py", "read ours", "write theirs")),
        *job("mindir_both_ways.py", "read theirs")]),
    "package alone": Row("", job("package_alone.py", "$A")),
}


def installed(names: list[str]) -> list[str]:
    """The folders of packages, each filled when it is first needed."""
    folders = []
    for name in names:
        folder, done = PLACE / "packages" / name, PLACE / "packages" / f"{name}.installed"
        if not done.exists() or done.read_text() != PACKAGES[name]:
            print(f"installing {PACKAGES[name]}", flush=True)
            subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps",
                            "--upgrade", "--target", str(folder), *PACKAGES[name].split()],
                           check=True)
            done.write_text(PACKAGES[name])
        folders.append(str(folder))
    return folders


def alone() -> str:
    """A Python that has PyTorch and NumPy, and not Lamella."""
    if "ALONE" in os.environ:
        return os.environ["ALONE"]
    folder = PLACE / "alone"
    python = str(folder / "bin" / "python")
    if not (folder / "installed").exists():
        import torch

        venv.create(folder, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", f"torch=={torch.__version__}",
                        "numpy"], check=True)
        (folder / "installed").touch()
    return python


def missing(row: Row) -> str:
    """What a row lacks that can't be installed; nothing if it can be run."""
    asks = any("$M" in command for command in row.commands)
    return "MINDSPORE=PYTHON, a Python with MindSpore 2.10" if asks and not os.environ.get(
        "MINDSPORE") else ""


def full(command: list[str]) -> list[str]:
    """A command as it is started."""
    command = [alone() if word == "$A" else os.environ["MINDSPORE"] if word == "$M" else word
               for word in command]
    if not command[0].endswith(".py") and not command[0].isdigit():
        return command
    lamella = [sys.executable, "-W", "ignore", "-m", "lamella"]
    if command[0].isdigit():
        many = command.pop(0)
        return [*lamella, "msrun", f"--worker_num={many}", f"--local_worker_num={many}",
                "--log_dir=logs", *command]
    return [*lamella, "run", *command]


def run(name: str, row: Row) -> tuple[int, float, float, str]:
    """Exit status of the first command that fails, seconds, those of the processor, last line."""
    folder = PLACE / "runs" / name.replace(", ", "-").replace(" ", "-")
    folder.mkdir(parents=True, exist_ok=True)
    places = installed([*row.packages.split(), "shared"] if row.packages else [])
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore",
                   "PYTHONPATH": os.pathsep.join([str(HERE.parents[1]), *places])}
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    status = 0
    with open(folder / "log.txt", "w", encoding="utf-8") as log:
        for command in row.commands:
            try:
                status = subprocess.run(full(command), cwd=folder, env=environment, stdout=log,
                                        stderr=subprocess.STDOUT, timeout=LIMIT).returncode
            except subprocess.TimeoutExpired:
                status = 124
            if status:
                break
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    lines = (folder / "log.txt").read_text("utf-8", "replace").split("\n")
    said = next((line for line in reversed(lines) if line.strip()), "")
    return (status, time.perf_counter() - start, after.ru_utime + after.ru_stime - before.ru_utime
            - before.ru_stime, said.strip())


def main() -> int:
    """Run the rows; returns how many have failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("words", nargs="*", help="rows whose names have one of these")
    parser.add_argument("--list", action="store_true", help="the rows, without running them")
    given = parser.parse_args()
    failed = 0
    for name, row in ROWS.items():
        if given.words and not any(word in name for word in given.words):
            continue
        lacks = missing(row)
        if lacks or given.list:
            print(f"{name}: " + (f"needs {lacks}" if lacks else row.packages or "no package"))
            continue
        status, took, worked, said = run(name, row)
        failed += status != 0
        print(f"{name}: exit {status} in {took:.0f} s ({worked:.0f} s of processor time): "
              f"{said[:200]}", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
