"""`MapParameter`: a table whose rows have keys, and are made when a key is first asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ..common.initializer import initializer
from ..core import dtype as mstype
from ..core.dtype import to_raw
from ..core.state import state
from ..ops.arguments import as_shape, require, typed
from ..ops.primitive import Primitive
from ..tensors.parameter import Parameter
from ..tensors.tensor import Tensor, wrap

__all__ = ["MapParameter", "MapTensorErase", "MapTensorGet", "MapTensorGetData",
           "MapTensorGetGrad", "MapTensorGetKeys", "MapTensorGetValues", "MapTensorPut"]

_KEYS = (torch.int32, torch.int64)


class MapParameter(Parameter):
    """A Parameter of rows by key. As a Tensor it is its rows, in the order in which they came.

    A row that `get` doesn't find is made. Gradients are by all rows that there are; inside of a
    gradient no row can be made, so that ``get`` before it, or `put`, has to. A checkpoint has no
    place for keys: save what `export_data` gives.

    Args:
        key_dtype: int32 or int64.
        value_dtype: the type of the rows.
        value_shape: the shape of a row; an int for one dimension.
        key_tensor, value_tensor: the first keys and rows, which decide about types and shape.
        default_value: a number, or the name of an initializer.
        permit_filter_value, evict_filter_value: accepted as MindSpore does.
        name, requires_grad: as `Parameter`.

    Raises:
        TypeError: if the keys aren't of int32 or int64.
        ValueError: if the first keys and rows don't go together.

    Examples:
        >>> import lamella as ms
        >>> from lamella.experimental import MapParameter
        >>> m = MapParameter(ms.int32, ms.float32, 2, default_value="zeros", name="m")
        >>> m.put(ms.Tensor([7], ms.int32), ms.Tensor([[1.0, 2.0]]))
        >>> print(m.get(ms.Tensor([7, 3], ms.int32)), m.get_keys())
        [[1. 2.]
         [0. 0.]] [7 3]
    """

    _kind: torch.dtype
    _places: dict[int, int]  # the row of each key
    default_value: Any
    key_dtype: Any
    value_dtype: Any
    value_shape: tuple[int, ...]
    permit_filter_value: int
    evict_filter_value: int | None

    def __init__(self, key_dtype: Any = None, value_dtype: Any = None, value_shape: Any = None,
                 key_tensor: Tensor | None = None, value_tensor: Tensor | None = None,
                 default_value: Any = "normal", permit_filter_value: int = 1,
                 evict_filter_value: int | None = None, name: str | None = None,
                 requires_grad: bool = True):
        where = "MapParameter"
        require((key_tensor is None) == (value_tensor is None), ValueError,
                f"For '{where}', 'key_tensor' and 'value_tensor' must be given together.")
        if key_tensor is not None and value_tensor is not None:
            for what, said, own in (("key_dtype", key_dtype, key_tensor.dtype),
                                    ("value_dtype", value_dtype, value_tensor.dtype)):
                require(said is None or said == own, ValueError, f"For '{where}', '{what}' must be "
                        f"that of the Tensor, {own}, but got {said}.")
            shape = value_tensor.shape[1:]
            key_dtype, value_dtype = key_tensor.dtype, value_tensor.dtype
        else:
            shape = as_shape(1 if value_shape is None else value_shape, where, "value_shape")
        self.__dict__["_kind"] = to_raw(mstype.int32 if key_dtype is None else key_dtype, where)
        require(self._kind in _KEYS, TypeError,
                f"For '{where}', 'key_dtype' must be int32 or int64, but got {key_dtype}.")
        value_dtype = mstype.float32 if value_dtype is None else value_dtype
        super().__init__(Tensor(np.zeros((0, *shape), np.float32)).astype(value_dtype), name,
                         requires_grad)
        self.__dict__.update(_places={}, default_value=default_value, key_dtype=key_dtype,
                             value_dtype=value_dtype, value_shape=tuple(shape),
                             permit_filter_value=permit_filter_value,
                             evict_filter_value=evict_filter_value)
        if key_tensor is not None and value_tensor is not None:
            self.put(key_tensor, value_tensor)

    def _listed(self, key_tensor: Any, where: str) -> list[int]:
        return typed(key_tensor, where, "key_tensor", (self._kind,)).reshape(-1).tolist()

    def _grow(self, keys: list[int], rows: torch.Tensor) -> None:
        """Append rows for new keys."""
        if state.level is not None:
            raise RuntimeError(f"For 'MapParameter', there are no rows of the keys {keys[:5]}, and "
                               f"inside of a gradient none can be made. Call 'get' or 'put' "
                               f"before.")
        self.set_data(wrap(torch.cat((self._raw, rows.to(self._raw.dtype)))), slice_shape=True)
        # a new dict: copies of this Parameter share the one that there was
        self.__dict__["_places"] = {**self._places, **{
            key: len(self._places) + i for i, key in enumerate(keys)}}

    def _defaults(self, many: int) -> torch.Tensor:
        made = initializer(self.default_value, (many, *self.value_shape), mstype.float32)
        return made.init_data()._raw.to(self._raw.dtype)

    def get(self, key_tensor: Tensor, insert_default_value: bool = True) -> Tensor:
        """The rows of keys.

        Args:
            key_tensor: the keys, shape (N,).
            insert_default_value: whether rows that aren't there are kept; else they are only given.
        """
        keys = self._listed(key_tensor, "MapParameter.get")
        missing = list(dict.fromkeys(key for key in keys if key not in self._places))
        if missing and insert_default_value:
            self._grow(missing, self._defaults(len(missing)))
            missing = []
        rows = self._raw
        places = self._places
        if missing:
            places = {**places, **{key: len(places) + i for i, key in enumerate(missing)}}
            rows = torch.cat((rows, self._defaults(len(missing))))
        index = torch.tensor([places[key] for key in keys], dtype=torch.long, device=rows.device)
        return wrap(rows[index])

    def put(self, key_tensor: Tensor, value_tensor: Tensor) -> None:
        """Set the rows of keys; of a key that is named twice the last one counts."""
        keys, values = self._listed(key_tensor, "MapParameter.put"), value_tensor._raw
        require(values.shape == (len(keys), *self.value_shape), ValueError,
                f"For 'MapParameter.put', 'value_tensor' must have the shape "
                f"{(len(keys), *self.value_shape)}, but got {value_tensor.shape}.")
        last = {key: row for row, key in enumerate(keys)}
        new = [key for key in last if key not in self._places]
        if new:
            self._grow(new, values[[last[key] for key in new]])
        places = torch.tensor([self._places[key] for key in last], dtype=torch.long)
        chosen = values[list(last.values())].to(self._raw.dtype)
        self.assign_raw(self._raw.index_copy(0, places.to(self._raw.device), chosen))

    def erase(self, key_tensor: Tensor) -> None:
        """Remove the rows of keys; those that aren't there make no difference."""
        gone = set(self._listed(key_tensor, "MapParameter.erase"))
        kept = [key for key in self._places if key not in gone]
        if len(kept) < len(self._places):
            rows = self._raw[[self._places[key] for key in kept]]
            self.set_data(wrap(rows), slice_shape=True)
            self.__dict__["_places"] = {key: place for place, key in enumerate(kept)}

    def get_keys(self) -> Tensor:
        """All keys."""
        return wrap(torch.tensor(list(self._places), dtype=self._kind))

    def get_values(self) -> Tensor:
        """All rows."""
        return wrap(self._raw.clone())

    def get_data(self) -> tuple[Tensor, Tensor]:
        """All keys and all rows."""
        return self.get_keys(), self.get_values()

    def export_data(self, incremental: bool = False) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Keys, rows and a status of 0 for each, as arrays; `incremental` is accepted."""
        keys, values = (each.asnumpy() for each in self.get_data())
        return keys, values, np.zeros(len(keys), np.int32)

    def import_data(self, data: Any) -> None:
        """Set what `export_data` gave."""
        if len(data[0]):
            self.put(Tensor(np.asarray(data[0])), Tensor(np.asarray(data[1])))

    def clone(self, init: Any = "same") -> MapParameter:
        """A copy of the same keys; another `init` makes the rows anew."""
        copy = MapParameter(self.key_dtype, self.value_dtype, self.value_shape,
                            default_value=self.default_value if init == "same" else init,
                            requires_grad=self.requires_grad)
        if self._places:
            keys, rows = self.get_data()
            copy.put(keys, rows if init == "same" else wrap(copy._defaults(len(self._places))))
        return copy

    def __setitem__(self, key_tensor: Any, value_tensor: Any) -> None:
        self.put(key_tensor, value_tensor)

    def __getitem__(self, key_tensor: Any) -> Tensor:
        return self.get(key_tensor)

    def __str__(self) -> str:
        key, value = (str(kind).removeprefix("mindspore.") for kind in (
            wrap(torch.empty(0, dtype=self._kind)).dtype, self.value_dtype))
        return (f"MapParameter(MapTensor(key_dtype={key.capitalize()}, "
                f"value_dtype={value.capitalize()}, value_shape={list(self.value_shape)}, "
                f"default_value={self.default_value}, permit_filter={self.permit_filter_value}, "
                f"evict_filter={self.evict_filter_value or 2 ** 63 - 1}))")

    __repr__ = __str__


class MapTensorGet(Primitive):
    """`MapParameter.get`.

    Args:
        insert_default_value: whether rows that aren't there are kept.

    Inputs:
        - **map_tensor** - the `MapParameter`.
        - **key_tensor** - the keys.
    """

    def __init__(self, insert_default_value: bool):
        super().__init__("MapTensorGet")
        self.add_prim_attr("insert_default_value", insert_default_value)

    def __call__(self, map_tensor: MapParameter, key_tensor: Tensor) -> Tensor:
        return map_tensor.get(key_tensor, self.insert_default_value)


class _OfMap(Primitive):
    """A method of `MapParameter` as a Primitive."""

    _method = ""

    def __init__(self):
        super().__init__(type(self).__name__)

    def __call__(self, map_tensor: MapParameter, *args: Any) -> Any:
        found = getattr(map_tensor, self._method)(*args)
        return map_tensor if found is None else found


class MapTensorPut(_OfMap):
    """`MapParameter.put`; gives the `MapParameter`."""

    _method = "put"


class MapTensorErase(_OfMap):
    """`MapParameter.erase`; gives the `MapParameter`."""

    _method = "erase"


class MapTensorGetKeys(_OfMap):
    """`MapParameter.get_keys`."""

    _method = "get_keys"


class MapTensorGetValues(_OfMap):
    """`MapParameter.get_values`."""

    _method = "get_values"


class MapTensorGetData(_OfMap):
    """`MapParameter.get_data`."""

    _method = "get_data"


class MapTensorGetGrad(Primitive):
    """The gradient of `MapTensorGet`: a `MapParameter` of the sums of a gradient's rows by key.

    Inputs:
        - **map_tensor** - the `MapParameter`.
        - **key_tensor** - the keys.
        - **default_value** - accepted as MindSpore does.
        - **grad** - the gradient of the rows.
    """

    def __init__(self):
        super().__init__("MapTensorGetGrad")

    def __call__(self, map_tensor: MapParameter, key_tensor: Tensor, default_value: Any,
                 grad: Tensor) -> MapParameter:
        keys, where = key_tensor._raw.reshape(-1).unique(return_inverse=True)
        rows = torch.zeros(len(keys), *grad.shape[1:], dtype=grad._raw.dtype,
                           device=grad._raw.device).index_add(0, where, grad._raw)
        return MapParameter(key_tensor=wrap(keys), value_tensor=wrap(rows), default_value="zeros")
