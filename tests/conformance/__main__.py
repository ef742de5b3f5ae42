"""The command: record what MindSpore gives, or compare with what is recorded.

python -m tests.conformance [--mindspore PYTHON] [--again] [--show N] [FAMILY ...]
"""

from __future__ import annotations

import argparse
import collections
import sys
from pathlib import Path

from .compare import SILENT, differences, elements, load, save, settled
from .drive import run
from .meant import MEANT, is_meant
from .runner import Runner, family


def families() -> list[str]:
    """The names of all families."""
    return sorted(p.stem for p in Path(__file__).with_name("cases").glob("[a-z]*.py"))


def record(python: str, name: str) -> None:
    """Run MindSpore twice, and keep the results that agree."""
    first, second = run(python, "mindspore", name), run(python, "mindspore", name)
    save(name, family(name), settled(first, second))


def write_pages(rows: list[str], reasons: collections.Counter[str]) -> None:
    """Put the families into docs/conformance.md, and the reasons into docs/differences.md."""
    sums = [sum(int(row.split("|")[i].replace(",", "")) for row in rows) for i in range(2, 7)]
    head = ["| family | cases | MindSpore answers | it alone refuses | meant | unexplained |"]
    head.append("|---|---:|---:|---:|---:|---:|")
    total = "| **all** | " + " | ".join(f"**{n:,}**" for n in sums) + " |"
    _between("conformance.md", [*head, *rows, total])
    told = [f"| {m.reason} | {reasons[m.reason]} |" for m in MEANT]
    _between("differences.md", ["| Lamella | cases |", "|---|---:|", *told])


def _between(page: str, lines: list[str]) -> None:
    """Replace the text between two markers of a page."""
    path = Path(__file__).parents[2] / "docs" / page
    start, end = "<!-- conformance -->", "<!-- /conformance -->"
    before, _, rest = path.read_text(encoding="utf-8").partition(start)
    after = rest.partition(end)[2]
    text = "\n".join([before + start, "", *lines, "", end]) + after
    path.write_text(text, encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(prog="make conformance")
    parser.add_argument("--mindspore", help="a Python interpreter that has the real MindSpore")
    parser.add_argument("--again", action="store_true", help="record what is recorded already")
    parser.add_argument("--show", type=int, default=0, help="differences to show of each kind")
    parser.add_argument("--apart", action="store_true", help="run in processes that may crash")
    parser.add_argument("--page", action="store_true", help="write the result into docs/")
    parser.add_argument("families", nargs="*")
    args = parser.parse_args()
    total: collections.Counter[str] = collections.Counter()
    reasons: collections.Counter[str] = collections.Counter()
    rows: list[str] = []
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
        asked = sum(not (isinstance(r, dict) and r.get("e") in SILENT) for r in real)
        rows.append(
            f"| {name} | {len(cases):,} | {asked:,} | {refusals:,} | {sum(counts.values())} "
            f"| {len(unexplained)} |"
        )
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
    if args.page:
        write_pages(rows, reasons)
    print(dict(total))
    for reason, count in reasons.most_common():
        print(f"{count:6d} {reason}")
    return 1 if total["unexplained"] or total["not recorded"] else 0


if __name__ == "__main__":
    sys.exit(main())
