"""Text as tokens in a mindrecord file: ``data/text.mindrecord``, 96 rows of 33 tokens."""

import os
from pathlib import Path

import numpy as np

LENGTH, ROWS = 33, 96


def main() -> None:
    from mindspore.mindrecord import FileWriter  # MindSpore's, or Lamella under its name

    Path("data").mkdir(exist_ok=True)
    text = Path(os.__file__).read_bytes()[:LENGTH * ROWS]  # Python's own, which is everywhere
    tokens = (np.frombuffer(text, np.uint8).astype(np.int32) % 96 + 3).reshape(ROWS, LENGTH)
    writer = FileWriter("data/text.mindrecord", 1, overwrite=True)
    writer.add_schema({"input_ids": {"type": "int32", "shape": [-1]}}, "text")
    writer.write_raw_data([{"input_ids": row} for row in tokens])
    writer.commit()


if __name__ == "__main__":
    main()
