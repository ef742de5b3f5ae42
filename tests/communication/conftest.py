"""A launcher that takes half a minute, started before the tests of this folder."""

import os
from pathlib import Path

import pytest

from ..worlds import ROOT
from ..zygote import Started

SCRIPT = Path(__file__).with_name("faulty.py")


@pytest.fixture(scope="session", autouse=True)
def hanging(request, tmp_path_factory):
    """msrun, one of whose processes hangs: PyTorch ends that after 30 s, while other tests run."""
    if not any("when_one_hangs" in item.name for item in request.session.items):
        yield None
        return
    folder = tmp_path_factory.mktemp("hanging")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("OMPI", "MS_"))}
    launcher = Started(
        "-W", "ignore", "-m", "lamella", "msrun", "--worker_num=2", "--local_worker_num=2",
        f"--log_dir={folder}", SCRIPT, folder, "SIGSTOP",
        env={**environment, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"})
    yield launcher, folder
    launcher.kill()
    launcher.communicate()
