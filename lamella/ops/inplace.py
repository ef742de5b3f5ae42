"""Methods that change a Tensor in place, as functions."""

from __future__ import annotations

from ..core.adapters import adapted
from ..core.errors import op
from ..tensors import inplace_methods as methods
from .activation import _tanh_
from .special import _tensor_erfinv_

__all__ = ["bernoulli_", "erfinv_", "exponential_", "normal_", "put_", "random_", "tanh_",
           "uniform_", "zero_"]

bernoulli_ = adapted(methods.bernoulli_, "input:self, p=0.5, *, generator=None")
erfinv_ = adapted(op(_tensor_erfinv_, "erfinv_"), "input:self", "erfinv_")
exponential_ = adapted(methods.exponential_, "input:self, lambd=1, *, generator=None")
normal_ = adapted(methods.normal_, "input:self, mean=0, std=1, *, generator=None")
put_ = adapted(methods.put_, "input:self, index, source, accumulate=False")
random_ = adapted(methods.random_, "input:self, from_=0, to=None, *, generator=None")
tanh_ = adapted(op(_tanh_, "tanh_"), "input:self", "tanh_")
uniform_ = adapted(methods.uniform_, "input:self, from_=0, to=1, *, generator=None")
zero_ = adapted(methods.zero_, "input:self")
