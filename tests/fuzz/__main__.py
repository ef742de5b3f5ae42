"""``python -m tests.fuzz``: many random calls, or one of them again."""

from __future__ import annotations

import argparse
import json
import sys
import traceback
import warnings
from dataclasses import asdict
from pathlib import Path


def main() -> int:
    """0 if nothing crashed or hung."""
    parser = argparse.ArgumentParser("python -m tests.fuzz", description=__doc__)
    parser.add_argument("--calls", type=int, default=100_000, help="how many calls")
    parser.add_argument("--seed", type=int, default=0, help="of the arguments")
    parser.add_argument("--begin", type=int, default=0, help="the number of the first call")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so long")
    parser.add_argument("--only", default="", help="part of the names of what to call")
    parser.add_argument("--targets", default="tests.fuzz.surface", help="the module that has them")
    parser.add_argument("--call", help="SEED:NUMBER of a call to make here, and to show")
    parser.add_argument("--dry", action="store_true", help="with --call: show it only")
    parser.add_argument("--json", type=Path, help="a file for all findings")
    given = parser.parse_args()
    if given.call:
        return _again(given)
    from .harness import run

    report = run(given.calls, given.seed, given.targets, given.only, begin=given.begin,
                 seconds=given.seconds)
    print("\n".join(report.lines()))
    if given.json:
        given.json.write_text(json.dumps(
            {"calls": report.calls, "counts": report.counts,
             "findings": [asdict(f) for f in report.findings]}))
    return int(bool(report.counts["crash"] or report.counts["hang"]))


def _again(given: argparse.Namespace) -> int:
    import lamella as ms

    from .worker import limit_memory, numbered, outcome, targets_of, told

    seed, number = map(int, given.call.split(":"))
    warnings.simplefilter("ignore")
    ms.set_seed(0)
    target, call, how = numbered(targets_of(given.targets, given.only), seed, number)
    print(told(target, call, how), flush=True)
    if given.dry:
        return 0
    limit_memory()
    kind, error = outcome(target, call, how)
    print(kind)
    if error is not None:
        traceback.print_exception(error)
    return 0


if __name__ == "__main__":
    sys.exit(main())
