"""What notebooks show of Tensors, networks and summaries: HTML."""

from __future__ import annotations

import base64
import html
import struct
import zlib
from typing import Any

import torch

from ..nn.cell import Cell
from ..tensors.parameter import Parameter
from ..tensors.tensor import Tensor
from .summary import Summary

__all__ = ["cell_html", "summary_html", "tensor_html"]

CELLS = 48  # rows and columns of a heat map at most
PIXELS = 192  # its width
_LOW, _MIDDLE, _HIGH = (33, 102, 172), (247, 247, 247), (178, 24, 43)  # blue, white, red
_RIGHT = ' style="text-align:right"'
_LEFT = ' style="text-align:left"'


def tensor_html(tensor: Tensor) -> str:
    """A Tensor: shape, type, statistics, a small heat map, and its elements, folded.

    Args:
        tensor: the Tensor, or a Parameter.
    """
    tensor.init_data()
    raw = tensor._raw.detach()
    title = type(tensor).__name__ + (f" {tensor.name}" if isinstance(tensor, Parameter) else "")
    head = f"<b>{_text(title)}</b> {_text(tensor.shape)} {_text(tensor.dtype)}"
    values = _real(raw)
    picture = "" if values is None or not raw.numel() else _heat_map(values)
    facts = "" if values is None or not raw.numel() else _facts(values)
    return (f"<div>{head}<div style='display:flex;gap:1em;align-items:flex-start'>{picture}{facts}"
            f"</div><details{' open' if raw.numel() <= 16 else ''}><summary>elements</summary>"
            f"<pre>{_text(tensor)}</pre></details></div>")


def _real(raw: torch.Tensor) -> torch.Tensor | None:
    """The elements as float64; None if they can't be."""
    if raw.is_complex():
        raw = raw.abs()
    try:
        return raw.cpu().double()
    except (RuntimeError, NotImplementedError):  # some types of 4 bits and fewer
        return None


def _facts(values: torch.Tensor) -> str:
    """A table of statistics."""
    finite = values[values.isfinite()]
    rows = [("elements", f"{values.numel():,}")]
    if finite.numel():
        deviation = finite.std(correction=0)
        rows += [("minimum", f"{finite.min():.4g}"), ("mean", f"{finite.mean():.4g}"),
                 ("maximum", f"{finite.max():.4g}"), ("deviation", f"{deviation:.4g}"),
                 ("zeros", f"{(finite == 0).double().mean():.1%}")]
    lost = values.numel() - finite.numel()
    if lost:
        rows.append(("not finite", f"{lost:,}"))
    return _table([], [[name, value] for name, value in rows])


def _heat_map(values: torch.Tensor) -> str:
    """A picture of the last two dimensions, at the first place of the others: red is above 0."""
    shown, where = values, ""
    if values.dim() > 2:
        where = f"[{', '.join(['0'] * (values.dim() - 2))}]"
        shown = values[(0,) * (values.dim() - 2)]
    shown = shown.reshape(1, -1) if shown.dim() < 2 else shown
    rows, columns = (max(1, -(-size // CELLS)) for size in shown.shape)
    shown = shown[::rows, ::columns]
    step = "" if rows == columns == 1 else f", every {rows} x {columns}"
    finite = shown[shown.isfinite()]
    most = float(finite.abs().max()) if finite.numel() else 0.0
    scaled = (shown / (most or 1.0)).where(shown.isfinite(), torch.nan)
    data = base64.b64encode(_png(_colors(scaled))).decode()
    height = max(6, min(PIXELS, PIXELS * shown.shape[0] // max(1, shown.shape[1])))
    label = f"elements{where}{step}, from {-most:.3g} (blue) to {most:.3g} (red)"
    return (f"<img src='data:image/png;base64,{data}' title='{label}' alt='{label}' "
            f"style='image-rendering:pixelated;width:{PIXELS}px;height:{height}px'>")


def _colors(scaled: torch.Tensor) -> torch.Tensor:
    """Colors of numbers from -1 to 1, as bytes; black for what isn't finite."""
    middle, low, high = (torch.tensor(color, dtype=torch.float64)
                         for color in (_MIDDLE, _LOW, _HIGH))
    share = scaled.nan_to_num(0.0).abs().unsqueeze(-1)
    end = torch.where(scaled.unsqueeze(-1) < 0, low, high)
    colors = (middle + share * (end - middle)).round().byte()
    return colors.masked_fill(scaled.isnan().unsqueeze(-1), 0)


def _png(colors: torch.Tensor) -> bytes:
    """A PNG file of colors, bytes of shape (height, width, 3) (W3C's PNG specification)."""
    height, width, _ = colors.shape
    lines = b"".join(b"\0" + bytes(row.flatten().tolist()) for row in colors)

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(
            ">I", zlib.crc32(kind + data))

    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0,
                                                              0))
            + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b""))


def cell_html(cell: Cell) -> str:
    """A Cell: the Cells in it, foldable, with a table of the Parameters of each.

    Args:
        cell: the network or layer.
    """
    return f"<div>{_cell(cell, '', True)}</div>"


def _cell(cell: Cell, name: str, is_open: bool) -> str:
    count = sum(parameter.size for parameter in cell.get_parameters())
    trained = sum(parameter.size for parameter in cell.trainable_params())
    note = f"{count:,} parameters" + ("" if trained == count else f", {trained:,} of them trained")
    title = f"{_text(name)} <b>{type(cell).__name__}</b>{_text(_settings(cell))} <i>{note}</i>"
    own = [[parameter.name, str(parameter.shape), str(parameter.dtype),
            "yes" if parameter.requires_grad else "no"]
           for parameter in cell.get_parameters(expand=False)]
    inner = [_cell(child, child_name, False) for child_name, child in cell.name_cells().items()]
    if own:
        inner.insert(0, _table(["parameter", "shape", "type", "trained"], own))
    if not inner:
        return f"<div style='margin-left:1em'>{title}</div>"
    return (f"<details style='margin-left:1em'{' open' if is_open else ''}><summary>{title}"
            f"</summary>{''.join(inner)}</details>")


def _settings(cell: Cell) -> str:
    """What a layer says of itself in its printed form."""
    try:
        said = cell.extend_repr()
    except Exception:  # the program's own method, while it only looks
        said = ""
    return f"({said})" if said else ""


def summary_html(found: Summary) -> str:
    """What `summary` found: a table, and a line with the sums."""
    head, *rows = found.rows()
    return _table(list(head), [list(row) for row in rows], spaces=True) + (
        f"<p>{_text(found.total())}</p>")


def _table(head: list[str], rows: list[list[str]], spaces: bool = False) -> str:
    """A table whose first column is text, and whose others are numbers."""
    keep = ";white-space:pre" if spaces else ""
    titles = "".join(f"<th{_LEFT if not i else _RIGHT}>{_text(name)}</th>"
                     for i, name in enumerate(head))
    lines = "".join("<tr>" + "".join(
        f"<td style='text-align:{'right' if i else 'left'}{keep}'>{_text(value)}</td>"
        for i, value in enumerate(row)) + "</tr>" for row in rows)
    return f"<table>{f'<tr>{titles}</tr>' if head else ''}{lines}</table>"


def _text(value: Any) -> str:
    return html.escape(str(value))
