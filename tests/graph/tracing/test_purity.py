"""Which functions written in C may be part of a graph."""

import pytest
import torch

from lamella.graph.tracing.purity import is_pure


@pytest.mark.parametrize("function", [
    torch.sin, torch._C._nn.gelu, torch._C._linalg.linalg_inv, torch.ones(1).add, abs, "a".join])
def test_what_only_computes_is_pure(function):
    assert is_pure(function)


@pytest.mark.parametrize("function", [
    torch.set_num_threads, torch.get_num_threads, torch._C._set_grad_enabled, open])
def test_what_changes_or_reads_a_state_is_not(function):
    assert not is_pure(function)
