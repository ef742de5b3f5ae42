"""MindSpore's `common`: initializers, and the base objects under the paths programs know."""

from . import dtype, initializer, parameter, tensor
from .dtype import Type, dtype_to_nptype, dtype_to_pytype, get_py_obj_dtype, pytype_to_dtype
from .initializer import Initializer
from .parameter import Parameter, ParameterTuple
from .tensor import Tensor
