"""Data on the way to the device: copied from pinned memory, on a stream of its own.

So the host doesn't wait for the copy, which goes on beside the kernels that the device still has to
run; the kernels that come after it wait for it. See "CUDA semantics" in PyTorch's notes.
"""

from __future__ import annotations

import functools
from typing import Any

import torch

from . import kinds


@functools.cache
def _stream(device: torch.device) -> Any:
    return kinds.module_of(device.type).Stream(device)


def sent(raw: torch.Tensor, device: torch.device) -> torch.Tensor:
    """A tensor of the host on a device.

    Args:
        raw: the tensor; it is copied before this returns, into pinned memory if the device takes
            that.
    """
    if not (kinds.pins(device) and kinds.has_streams(device)):
        return raw.to(device)
    module, stream = kinds.module_of(device.type), _stream(device)
    user = module.current_stream(device)
    pinned = raw.pin_memory()
    with module.stream(stream):
        found = pinned.to(device, non_blocking=True)
    user.wait_stream(stream)
    found.record_stream(user)  # its memory is not given to another copy before the user is done
    return found
