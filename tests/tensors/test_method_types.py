"""What type checkers know of Tensor's methods: the stub is that of today's, and names are checked.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import lamella

from ..zygote import run

ROOT = Path(lamella.__file__).parents[1]

PROGRAM = '''
from lamella import Tensor

x = Tensor([1.0, 2.0])
y: Tensor = (x.sum(0) + x.reshape(2, 1)).abs()
x.summ()
x.cumprod(0, axes=1)
x.requires_gradient
'''


def test_the_stub_is_that_of_the_methods():
    result = run(ROOT / "docs" / "method_types.py", "--check")
    assert result.returncode == 0, "run `make stubs`"


def test_a_misspelled_method_or_argument_fails_the_type_checker(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    # another folder's settings don't count, and the package's own
    (tmp_path / "pyrightconfig.json").write_text(json.dumps({"extraPaths": [str(ROOT)]}))
    result = subprocess.run([sys.executable, "-m", "pyright", "--pythonpath", sys.executable,
                             "--outputjson", "-p", tmp_path],
                            capture_output=True, text=True, cwd=tmp_path)
    found = json.loads(result.stdout)["generalDiagnostics"]
    assert [each["range"]["start"]["line"] + 1 for each in found
            if each["severity"] == "error"] == [6, 7, 8]
