"""Draws docs/rooms.svg, the rooms of the package in the order that `tests/test_rooms.py` holds.

    python docs/rooms.py           # writes it
    python docs/rooms.py --check   # fails if the picture isn't that of today's rooms
"""

from __future__ import annotations

import html
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.test_rooms import ABOVE, RANKS, ROOT, TOP  # noqa: E402

TARGET = Path(__file__).with_name("rooms.svg")
WIDTH, HEIGHT, GAP, LEFT, MOST = 124, 34, 14, 20, 5


def rows() -> list[list[str]]:
    """The rooms by rank, from the bottom; at most five in a row."""
    heights = {}
    for path in ROOT.glob("*/__init__.py"):
        room = path.parent.name
        # a room in parts stands where its lowest part does
        ranks = [rank for name, rank in RANKS.items() if name.partition(".")[0] == room]
        heights[room] = ABOVE + 1 if room in TOP else min(ranks, default=ABOVE)
    levels = [sorted(r for r in heights if heights[r] == rank)
              for rank in sorted(set(heights.values()))]
    return [level[i:i + MOST] for level in levels for i in range(0, len(level), MOST)]


def drawn() -> str:
    """The picture."""
    levels = rows()
    width = LEFT * 2 + max(len(row) for row in levels) * (WIDTH + GAP) - GAP
    height = LEFT * 2 + len(levels) * (HEIGHT + GAP) - GAP
    boxes = []
    for level, row in enumerate(reversed(levels)):
        top = LEFT + level * (HEIGHT + GAP)
        start = (width - len(row) * (WIDTH + GAP) + GAP) / 2
        for place, room in enumerate(row):
            left = start + place * (WIDTH + GAP)
            boxes.append(
                f'<rect x="{left:g}" y="{top}" width="{WIDTH}" height="{HEIGHT}" rx="6" '
                'fill="#eef2fb" stroke="#3f51b5"/>'
                f'<text x="{left + WIDTH / 2:g}" y="{top + HEIGHT / 2 + 5:g}" '
                f'text-anchor="middle">{html.escape(room)}</text>')
    inside = "\n".join(boxes)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'width="{width}" font-family="sans-serif" font-size="14" fill="#1a237e">\n'
            "<title>The rooms of Lamella: each imports only rooms below it</title>\n"
            f'<rect width="100%" height="100%" fill="#ffffff"/>\n{inside}\n</svg>\n')


def main() -> int:
    picture = drawn()
    if "--check" in sys.argv[1:]:
        return int(TARGET.read_text(encoding="utf-8") != picture)
    TARGET.write_text(picture, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
