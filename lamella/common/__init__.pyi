"""The names of this package; `make stubs` writes this file."""

from lamella.common import congruential as congruential
from lamella.common import drawing as drawing
from lamella.common import dtype as dtype
from lamella.common import filling as filling
from lamella.common import initializer as initializer
from lamella.common import mersenne_twister as mersenne_twister
from lamella.common import parameter as parameter
from lamella.common import philox as philox
from lamella.common import tensor as tensor
from lamella.common.filling import Initializer as Initializer
from lamella.core.dtype import (
    Type as Type, dtype_to_nptype as dtype_to_nptype, dtype_to_pytype as dtype_to_pytype,
    get_py_obj_dtype as get_py_obj_dtype, pytype_to_dtype as pytype_to_dtype,
)
from lamella.tensors.parameter import Parameter as Parameter, ParameterTuple as ParameterTuple
from lamella.tensors.tensor import Tensor as Tensor
