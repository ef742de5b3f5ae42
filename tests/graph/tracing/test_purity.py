"""Which functions written in C may be part of a graph."""

import pytest
import torch

from lamella.graph.tracing.purity import is_pure, is_pure_library


@pytest.mark.parametrize("function", [
    torch.sin, torch._C._nn.gelu, torch._C._linalg.linalg_inv, torch.ones(1).add, abs, "a".join])
def test_what_only_computes_is_pure(function):
    assert is_pure(function)


@pytest.mark.parametrize("function", [
    torch.set_num_threads, torch.get_num_threads, torch._C._set_grad_enabled, open])
def test_what_changes_or_reads_a_state_is_not(function):
    assert not is_pure(function)


@pytest.mark.parametrize("module, name, pure", [
    ("collections.abc", "get", True), ("json.decoder", "decode", True), ("numpy", "f", True),
    ("numpy.linalg", "norm", True), ("os", "getenv", False), ("subprocess", "run", False),
    ("urllib.request", "urlopen", False), ("logging", "info", True), ("logging", "shutdown", False),
    ("logging.handlers", "info", True)])
def test_functions_of_pythons_library(module, name, pure):
    assert is_pure_library(module, name) is pure
