"""The command: record what MindSpore gives, or compare with what is recorded.

python -m tests.conformance [--mindspore PYTHON] [--again] [--show N] [FAMILY ...]
"""

from __future__ import annotations

import argparse
import collections
import sys
from pathlib import Path

from .compare import differences, elements, load, save, settled
from .drive import run
from .meant import is_meant
from .runner import Runner, family


def families() -> list[str]:
    """The names of all families."""
    return sorted(p.stem for p in Path(__file__).with_name("cases").glob("[a-z]*.py"))


def record(python: str, name: str) -> None:
    """Ask MindSpore twice, and keep what it says both times."""
    first, second = run(python, "mindspore", name), run(python, "mindspore", name)
    save(name, family(name), settled(first, second))


def main() -> int:
    parser = argparse.ArgumentParser(prog="make conformance")
    parser.add_argument("--mindspore", help="a Python interpreter that has the real MindSpore")
    parser.add_argument("--again", action="store_true", help="record what is recorded already")
    parser.add_argument("--show", type=int, default=0, help="differences to show of each kind")
    parser.add_argument("--apart", action="store_true", help="run in processes that may crash")
    parser.add_argument("families", nargs="*")
    args = parser.parse_args()
    total: collections.Counter[str] = collections.Counter()
    reasons: collections.Counter[str] = collections.Counter()
    for name in args.families or families():
        cases = family(name)
        if args.mindspore and (args.again or load(name, cases) is None):
            record(args.mindspore, name)
        real = load(name, cases)
        if real is None:
            print(f"{name}: not recorded; needs --mindspore")
            total["not recorded"] += len(cases)
            continue
        ours = run(sys.executable, "lamella", name) if args.apart else Runner("lamella").all(cases)
        unexplained, counts = differences(cases, real, ours, is_meant)
        refusals = sum(
            "e" in r and "e" not in o
            for r, o in zip(real, ours, strict=True)
            if isinstance(r, dict)
        )
        total.update(
            cases=len(cases),
            refusals=refusals,
            unexplained=len(unexplained),
            meant=sum(counts.values()),
        )
        reasons.update(counts)
        print(
            f"{name}: {len(cases)} cases, {len(unexplained)} unexplained, "
            f"{sum(counts.values())} meant, {refusals} where only MindSpore refuses",
            flush=True,
        )
        shown: collections.Counter[str] = collections.Counter()
        for case, kind, r, o in unexplained:
            about = f"{kind} of {case.expression.split('(')[0]}"
            shown[about] += 1
            if shown[about] <= args.show:
                print(f"    {kind}: {case}")
                apart = elements(case, r, o) if kind == "value" else []
                for given, theirs, own in apart[:4]:
                    print(f"        of {given} MindSpore gives {theirs}, Lamella {own}")
                if not apart:
                    print(f"        MindSpore {str(r)[:160]}\n        Lamella   {str(o)[:160]}")
    print(dict(total))
    for reason, count in reasons.most_common():
        print(f"{count:6d} {reason}")
    return 1 if total["unexplained"] or total["not recorded"] else 0


if __name__ == "__main__":
    sys.exit(main())
