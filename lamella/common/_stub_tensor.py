"""`StubTensor`: a Tensor that isn't computed yet. Programs ask for it; here there is none."""

__all__ = ["StubTensor"]


class StubTensor:
    """The class that Tensors which wait for their values have in MindSpore; nothing is one here."""
