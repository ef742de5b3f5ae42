"""The base of the Primitive classes, under the path that programs import it from."""

from ..primitive import Primitive as Primitive
from ..primitive import PrimitiveWithCheck as PrimitiveWithCheck
from ..primitive import PrimitiveWithInfer as PrimitiveWithInfer
from ..primitive import primitive as primitive
