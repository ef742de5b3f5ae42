"""Functions on Tensors, one file per family, and the Primitive classes over them."""

from ..core.elsewhere import names_elsewhere as _names_elsewhere
from ..tensors.tensor import Tensor as Tensor
from .activation import *
from .adaptive_pooling import *
from .added_products import *
from .arithmetic import *
from .assign import *
from .attention import *
from .bessel import *
from .bitwise import *
from .boxes import *
from .candidates import *
from .classify import *
from .clip import *
from .combine import *
from .compare import *
from .complex import *
from .composite import *
from .control import *
from .convolution import *
from .creation import *
from .custom import *
from .custom_registration import *
from .decomposition import *
from .diagonal import *
from .differentiation import *
from .division import *
from .dropout import *
from .elementary import *
from .elsewhere import name_of_another_room as __getattr__
from .embedding import *
from .expert_exchange import *
from .experts import *
from .extrema import *
from .flash_attention import *
from .fourier import *
from .fourier_axes import *
from .gather import *
from .gathered_products import *
from .image import *
from .inplace import *
from .interpolation import *
from .join import *
from .linalg import *
from .loss import *
from .margin_loss import *
from .native_sparse_attention import *
from .norm import *
from .normalization import *
from .padding import *
from .partial_attention import *
from .piecewise import *
from .pooling import *
from .primitive import Primitive as Primitive
from .primitive import PrimitiveWithCheck as PrimitiveWithCheck
from .primitive import PrimitiveWithInfer as PrimitiveWithInfer
from .primitives.activation import *
from .primitives.array import *
from .primitives.assign import *
from .primitives.attention import *
from .primitives.boxes import *
from .primitives.cache_index import *
from .primitives.colors import *
from .primitives.communication import *
from .primitives.creation import *
from .primitives.data_format import *
from .primitives.debug import *
from .primitives.declared_settings import declare as _declare_settings
from .primitives.declared_types import declare as _declare_types
from .primitives.depthwise import *
from .primitives.detection import *
from .primitives.drawn_classes import *
from .primitives.dropout_mask import *
from .primitives.experts import GroupTopk as GroupTopk
from .primitives.extended import *
from .primitives.grouped import *
from .primitives.image import *
from .primitives.linalg import *
from .primitives.loss import *
from .primitives.math import *
from .primitives.messages import *
from .primitives.neighbours import *
from .primitives.nn import *
from .primitives.optimizer import *
from .primitives.optimizer_adaptive import *
from .primitives.optimizer_fused import *
from .primitives.optimizer_rows import *
from .primitives.patches import *
from .primitives.pooling import *
from .primitives.random import *
from .primitives.recurrent import *
from .primitives.reduce import *
from .primitives.scatter import *
from .primitives.segments import *
from .primitives.selection import *
from .primitives.sequences import *
from .primitives.spectral import *
from .products import *
from .random import *
from .ranges import *
from .rearrange import *
from .reduce import *
from .sampling import *
from .scan import *
from .scatter import *
from .scatter_nd import *
from .select import *
from .shape import *
from .slicing import *
from .sorting import *
from .sparse_attention import *
from .special import *
from .split import *
from .statistics import *
from .trigonometry import *
from .window import *

# the file `reduce` has taken the name of this function
from .elsewhere import reduce as reduce  # isort: skip

_declare_types(globals())
_declare_settings(globals())


def __dir__() -> list[str]:
    return sorted({*globals(), *_names_elsewhere("ops")})
