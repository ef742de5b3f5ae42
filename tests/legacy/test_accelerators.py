"""Names of kernels that GPUs alone had."""

from __future__ import annotations

import pytest

from lamella.legacy import accelerators


@pytest.mark.parametrize("name", accelerators.__all__)
def test_they_can_be_named_but_not_made(name):
    with pytest.raises(NotImplementedError, match=f"'{name}' was a kernel for GPUs.*; "):
        getattr(accelerators, name)("Tag", dest_rank=1)
