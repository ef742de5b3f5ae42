"""The base of the Primitive classes, under the path that programs import it from."""

from ..core.primitive import Primitive as Primitive
from ..core.primitive import PrimitiveWithCheck as PrimitiveWithCheck
from ..core.primitive import PrimitiveWithInfer as PrimitiveWithInfer
from ..core.primitive import primitive as primitive
