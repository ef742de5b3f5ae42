"""`StubTensor`, by which programs ask whether a Tensor has yet to be computed: none has, here."""

__all__ = ["StubTensor"]


class StubTensor:
    """The class that Tensors which wait for their values have in MindSpore; nothing is one here."""
