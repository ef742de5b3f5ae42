"""Forms of values, and copies that keep them."""

import pytest
import torch
from torch.fx import Graph

from lamella.graph.ir.metadata import TensorMetadata, copy_of, meta_of, meta_of_value, same_as

FORMS = {
    "turned": torch.arange(6.0).reshape(2, 3).t(), "expanded": torch.ones(1).expand(4, 3),
    "a part": torch.arange(12.0)[2:9:3], "one": torch.tensor(3.0), "empty": torch.ones(0, 4),
    "rows": torch.arange(24.0).reshape(2, 3, 4),
    "columns": torch.arange(12.0).reshape(3, 4)[:, 1:3],
    "ones": torch.arange(4.0).as_strided((1, 4, 1), (9, 1, 7)),
    "windows": torch.arange(6.0).as_strided((4, 3), (1, 1)),
    "repeated": torch.arange(3.0)[:, None].expand(3, 2), "halves": torch.ones(5, 2).half(),
    "apart": torch.arange(12.0).as_strided((3, 2), (4, 3)),
    "wide": torch.arange(8, dtype=torch.int64)}


@pytest.mark.parametrize("name", FORMS)
def test_copies_keep_shape_and_strides(name):
    x = FORMS[name]
    copy = copy_of(x)
    assert copy.stride() == x.stride()
    assert torch.equal(copy, x)
    assert not x.numel() or copy.untyped_storage().data_ptr() != x.untyped_storage().data_ptr()


@pytest.mark.parametrize("name", FORMS)
def test_what_metadata_says_of_a_tensor(name):
    x = FORMS[name]
    meta = meta_of_value(x)
    assert (meta.size, meta.bytes, meta.contiguous) == (x.numel(), x.nbytes, x.is_contiguous())
    places = torch.arange(100).as_strided(x.shape, x.stride())
    assert meta.span == (int(places.max()) + 1 if x.numel() else 0)
    for made in (meta.empty(), *([meta.scratch()] if x.is_floating_point() else [])):
        assert meta_of_value(made) == meta
    copy = meta.copied(x)
    assert torch.equal(copy, x) and copy.data_ptr() != x.data_ptr() or not x.numel()
    assert copy.stride() == x.stride() or 0 in x.stride() and copy.is_contiguous()


def test_what_has_no_metadata():
    for value in (torch.nn.Parameter(torch.ones(2)), torch.eye(2).to_sparse(), 3.0, None):
        assert meta_of_value(value) is None
    node = Graph().placeholder("x")
    assert meta_of(node) is None and meta_of(FORMS["rows"]) is None
    node.meta["tensor_meta"] = meta_of_value(FORMS["rows"])
    assert meta_of(node) == meta_of_value(FORMS["rows"])


CPU = torch.device("cpu")
FORM = TensorMetadata((1, 4, 2), (8, 2, 1), torch.float32, CPU)


@pytest.mark.parametrize("other, same", [
    (FORM, True), (FORM._replace(stride=(5, 2, 1)), True), (FORM._replace(stride=(8, 2, 2)), False),
    (FORM._replace(stride=(8, 3, 1)), False), (FORM._replace(shape=(1, 4, 3)), False),
    (FORM._replace(dtype=torch.int32), False), (FORM._replace(device=torch.device("meta")), False),
    (None, False)])
def test_values_of_the_same_form(other, same):
    graph = Graph()
    nodes = [graph.placeholder(name) for name in ("x", "y")]
    for node, meta in zip(nodes, (FORM, other), strict=True):
        if meta is not None:
            node.meta["tensor_meta"] = meta
    assert same_as(*nodes) == same_as(*nodes[::-1]) == same
