"""The names of MindSpore 2.10: errors distinguish missing names from misspelled ones.

Read when a name is missed, from ``data/mindspore_names.txt``: a line for each module and class,
with the names in it.
"""

from __future__ import annotations

import difflib
import functools
from collections.abc import Iterable
from pathlib import Path

# what is left out on purpose, and what to use instead
_THOR = ("THOR of MindSpore 2.10 stops with a TypeError before its first step; "
         "use nn.Momentum, nn.Lamb or nn.AdamWeightDecay.")
_HIDING = ("There is no obfuscation: shuffled weights hide nothing from whoever can run the "
           "network. Keep checkpoints where only those can read them who may.")
_LEFT_OUT = {"mindspore.obfuscate_ckpt": _HIDING, "mindspore.load_obf_params_into_net": _HIDING,
             "mindspore.nn.thor": _THOR,
             "mindspore.train.train_thor": _THOR, "mindspore.train.ConvertModelUtils": _THOR,
             "mindspore.train.ConvertNetUtils": _THOR}

_FILE = Path(__file__).with_name("data") / "mindspore_names.txt"


@functools.lru_cache(1)
def names() -> dict[str, frozenset[str]]:
    """The names in each module and class."""
    lines = (line.partition(": ") for line in _FILE.read_text(encoding="utf-8").splitlines())
    return {owner: frozenset(names.split()) for owner, _, names in lines}


def is_mindspores(owner: str, name: str) -> bool | None:
    """Whether MindSpore 2.10 has `name` in a module or class; None if that isn't in the list.

    >>> is_mindspores("mindspore.nn", "Dense"), is_mindspores("mindspore.nn", "Densee")
    (True, False)
    """
    known = names().get(owner)
    return None if known is None else name in known


def why_left_out(path: str) -> str | None:
    """Why a name of MindSpore is left out on purpose; None for any other name.

    >>> why_left_out("mindspore.nn.thor")[:23], why_left_out("mindspore.nn.Dense")
    ('THOR of MindSpore 2.10 ', None)
    """
    return _LEFT_OUT.get(path)


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The existing name that `name` is probably a misspelling of; None if there is none.

    >>> nearest("Densee", ["Dense", "Dropout"]), nearest("mint", ["int"])
    ('Dense', None)
    """
    for found in difflib.get_close_matches(name, names, n=3, cutoff=0.75):
        # one letter inserted, deleted or replaced, or two exchanged
        if abs(len(found) - len(name)) <= 1 + len(name) // 8 and len(name) > 3 \
                and found[:1].lower() == name[:1].lower():
            return found
    return None
