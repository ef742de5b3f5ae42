"""Decoding images, and converting their types, layouts and ranges."""

from __future__ import annotations

import colorsys
import io
from typing import Any

import numpy as np

from ...core.dtype import Type, dtype_to_nptype
from ...core.reading import UNEXPECTED
from ..checks import number, numpy_type
from ..errors import DataError
from ..transforms.operation import PyTensorOperation, is_pillow
from ..transforms.transforms import TypeCast
from . import kernels
from .enums import ConvertMode
from .image import ImageOperation, cv, frames, is_image, pillow


class Decode(ImageOperation):
    """The image of an encoded file's bytes, in RGB.

    Args:
        to_pil: give an image of Pillow's instead of an array.

    Raises:
        RuntimeError: if the bytes are no image, or only a part of one.
    """

    def __init__(self, to_pil: bool = False):
        self.to_pil = self.python = to_pil

    def accept(self, value: Any) -> Any:
        """The bytes as an array.

        Raises:
            TypeError: if they are none.
        """
        if isinstance(value, bytes):
            value = np.frombuffer(value, np.uint8)
        if not isinstance(value, np.ndarray):
            raise TypeError(f"Input should be an encoded image in a 1-D NumPy array, got "
                            f"{type(value)}.")
        return value

    def transform(self, value: Any) -> Any:
        """The image."""
        if value.dtype.kind == "S":
            value = np.frombuffer(value.tobytes(), np.uint8)
        if value.ndim != 1:
            raise TypeError("The number of array dimensions of the encoded image should be 1, "
                            f"but got {value.ndim}.")
        if value.dtype not in (np.uint8, np.int8):
            raise TypeError(f"Decode: the input must be an encoded image in a 1-D array of uint8, "
                            f"but got {value.dtype} {list(value.shape)}.")
        if self.to_pil:
            try:
                return pillow().open(io.BytesIO(value.tobytes())).convert("RGB")
            except (OSError, SyntaxError, pillow().DecompressionBombError, *UNEXPECTED) as error:
                raise ValueError(f"Decode: the bytes are no image: {error}") from error
        return decoded(value)


def decoded(data: np.ndarray) -> np.ndarray:
    """The image of an encoded file's bytes, as an array in RGB."""
    if data.size == 0:
        raise RuntimeError("Decode: Invalid image, the input is empty.")
    if data[:2].tobytes() == b"\xff\xd8" and b"\xff\xd9" not in data[-4096:].tobytes():
        raise RuntimeError("Decode: the JPEG data ends too early; the file is damaged.")
    flags = cv().IMREAD_COLOR | cv().IMREAD_IGNORE_ORIENTATION
    image = decoded_as(data, flags)
    if image is None:
        raise RuntimeError("Decode: image decode failed. The bytes are no image, or the file is "
                           "damaged.")
    return cv().cvtColor(image, cv().COLOR_BGR2RGB, dst=image)


def decoded_as(data: np.ndarray, flags: int) -> Any:
    """What OpenCV makes of an encoded file's bytes; None if they are no image.

    Raises:
        RuntimeError: if it refuses the image, as one of 2^30 pixels and more.
    """
    try:
        return cv().imdecode(np.ascontiguousarray(data), flags)
    except cv().error as error:
        why = str(error).strip()
        raise RuntimeError(f"Decode: OpenCV can't decode the image: {why}") from error


class ToTensor(ImageOperation):
    """An image as numbers in [0, 1], channels first.

    Args:
        output_type: their type.

    Examples:
        >>> import numpy as np
        >>> import lamella.dataset.vision as vision
        >>> image = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
        >>> out = vision.ToTensor()(image)
        >>> out.shape, out.dtype.name, float(out.max()) <= 1
        ((3, 4, 4), 'float32', True)
    """

    def __init__(self, output_type: Any = np.float32):
        self._kind = np.dtype(dtype_to_nptype(output_type)) if isinstance(
            output_type, Type) else numpy_type("ToTensor", "output_type", output_type)
        self.output_type = output_type

    def __call__(self, *values: Any) -> Any:
        if len(values) == 1 and is_pillow(values[0]):  # 2.10 divides here, and multiplies in `map`
            array = np.asarray(values[0])
            array = array[:, :, None] if array.ndim == 2 else array
            return (array.transpose(2, 0, 1) / 255.0).astype(self._kind)
        return super().__call__(*values)

    def _array(self, image: np.ndarray) -> np.ndarray:
        if image.ndim not in (2, 3):
            raise RuntimeError(f"ToTensor: the image must have the shape <H,W> or <H,W,C>, but got "
                               f"{list(image.shape)}.")
        return self.block(image[None])[0]

    def block(self, image: np.ndarray) -> np.ndarray:
        """A stack of images as numbers in [0, 1], channels first."""
        stack = image[..., None] if image.ndim == 3 else image
        out = np.ascontiguousarray(np.moveaxis(stack, -1, -3))
        return (out * np.float32(1 / 255)).astype(self._kind)


class ToPIL(PyTensorOperation):
    """An image of Pillow's, of an array (H, W, C) of uint8.

    Examples:
        >>> import numpy as np
        >>> import lamella.dataset.vision as vision
        >>> image = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
        >>> vision.ToPIL()(image).size
        (4, 4)
    """

    def transform(self, value: Any) -> Any:
        """The image."""
        if is_pillow(value):
            return value
        if not isinstance(value, np.ndarray):
            raise TypeError(f"The input of ToPIL should be a NumPy array or PIL image, got "
                            f"{type(value)}.")
        if value.ndim not in (2, 3):
            raise ValueError(f"The dimension of input image should be 2 or 3. Got {value.ndim}.")
        if value.ndim == 3 and value.shape[2] > 4:
            raise ValueError(f"The channel of input image should not exceed 4. Got "
                             f"{value.shape[2]}.")
        if value.ndim == 3 and value.shape[2] == 1:
            value = value[..., 0]
        try:
            return pillow().fromarray(value)
        except TypeError:
            shape = {3: "[H, W, 2], [H, W, 3] or [H, W, 4]"}.get(value.ndim, "[H, W] or [H, W, 1]")
            raise TypeError(f"The input image type {value.dtype} is not supported when image shape "
                            f"is {shape}. It should be of type numpy.ndarray or PIL.Image.Image; "
                            f"for 'ToPIL', it has the shape {list(value.shape)}.") from None


class ToNumpy(PyTensorOperation):
    """The array of an image of Pillow's."""

    def transform(self, value: Any) -> np.ndarray:
        """The array."""
        return np.array(value)


class ToType(TypeCast):
    """An image in another type; one of Pillow's becomes an array."""

    def transform(self, value: Any) -> np.ndarray:
        """The converted image."""
        return super().transform(np.asarray(value))


class HWC2CHW(ImageOperation):
    """Move the channels first.

    Examples:
        >>> import numpy as np
        >>> import lamella.dataset.vision as vision
        >>> image = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
        >>> vision.HWC2CHW()(image).shape
        (3, 4, 4)
    """

    def _array(self, image: np.ndarray) -> np.ndarray:
        if image.ndim == 2:
            return image
        if image.ndim < 3:
            raise RuntimeError(f"HWC2CHW: the image must have the shape <H,W,C>, but got "
                               f"{list(image.shape)}.")
        return self.block(image)

    def block(self, image: np.ndarray) -> np.ndarray:
        """Move the channels first, for a stack of images."""
        if image.ndim < 3:
            raise RuntimeError(f"HWC2CHW: the image must have the shape <H,W,C>, but got "
                               f"{list(image.shape)}.")
        return np.ascontiguousarray(np.moveaxis(image, -1, -3))


class Rescale(ImageOperation):
    """Multiply by a factor and add a shift, in float32.

    Args:
        rescale: the factor.
        shift: the shift.

    Examples:
        >>> import numpy as np
        >>> import lamella.dataset.vision as vision
        >>> print(vision.Rescale(0.5, 1.0)(np.array([[[0, 50, 250]]], np.uint8)))
        [[[  1.  26. 126.]]]
    """

    def __init__(self, rescale: float, shift: float):
        self.rescale = number("Rescale", "rescale", rescale)
        self.shift = number("Rescale", "shift", shift)

    def _array(self, image: np.ndarray) -> np.ndarray:
        if image.dtype == np.float16:  # NumPy would compute in it
            image = image.astype(np.float32)
        out = image * float(np.float32(self.rescale)) + float(np.float32(self.shift))
        return np.asarray(out, np.float32)

    block = _array


class Normalize(ImageOperation):
    """Subtract each channel's mean and divide by its standard deviation, in float32.

    Args:
        mean, std: a number for each channel.
        is_hwc: whether channels are last; else first.

    Examples:
        >>> import numpy as np
        >>> from lamella.dataset import vision
        >>> vision.Normalize([1.0], [2.0])(np.full((1, 2, 1), 5, np.uint8)).ravel()
        array([2., 2.], dtype=float32)
    """

    def __init__(self, mean: Any, std: Any, is_hwc: bool = True):
        self.mean, self.std, self.is_hwc = mean, std, is_hwc
        self._mean, self._std = np.asarray(mean, np.float32), np.asarray(std, np.float32)

    def _array(self, image: np.ndarray) -> np.ndarray:
        if image.ndim == 2:
            return self.block(image[..., None] if self.is_hwc else image[None]).reshape(image.shape)
        return self.block(is_image("Normalize", image) if image.ndim < 3 else image)

    def block(self, image: np.ndarray) -> np.ndarray:
        """Normalize a stack of images."""
        axis = -1 if self.is_hwc else -3
        channels = image.shape[axis] if image.ndim >= 3 else -1
        if len(self.mean) not in (1, channels) or channels < 0:
            raise RuntimeError(f"{type(self).__name__}: number of channels does not match the size "
                               f"of mean and std vectors, got channels: {channels}, size of mean: "
                               f"{len(self.mean)}")
        planes = np.moveaxis(image, axis, -3)  # channels first in memory: long inner loops, and
        out = np.empty(planes.shape, np.float32)  # `HWC2CHW` has nothing left to move
        np.copyto(out, planes, "unsafe")
        np.subtract(out, self._mean.reshape(-1, 1, 1), out=out)
        np.divide(out, self._std.reshape(-1, 1, 1), out=out)
        return np.moveaxis(out, -3, axis)


class NormalizePad(Normalize):
    """As `Normalize`, with one more channel of zeros.

    Args:
        mean, std, is_hwc: as for `Normalize`.
        dtype: ``"float32"`` or ``"float16"``.
    """

    def __init__(self, mean: Any, std: Any, dtype: str = "float32", is_hwc: bool = True):
        super().__init__(mean, std, is_hwc)
        self.dtype = dtype

    def block(self, image: np.ndarray) -> np.ndarray:
        """Normalize a stack of images."""
        out = super().block(image)
        axis = -1 if self.is_hwc else -3
        more = np.zeros_like(np.take(out, [0], axis))
        return np.concatenate([out, more], axis).astype(self.dtype)


class ConvertColor(ImageOperation):
    """Convert the colour format.

    Args:
        convert_mode: a ConvertMode.
    """

    def __init__(self, convert_mode: ConvertMode):
        self.convert_mode = convert_mode

    def _array(self, image: np.ndarray) -> np.ndarray:
        return frames(image, self._converted)

    def _converted(self, image: np.ndarray) -> np.ndarray:
        code = getattr(cv(), self.convert_mode.name)
        needed = {"BGRA": 4, "RGBA": 4, "GRAY": 1}.get(
            self.convert_mode.name.removeprefix("COLOR_").split("2")[0], 3)
        is_image("ConvertColor", image, [needed])
        out = cv().cvtColor(np.ascontiguousarray(kernels.numbers_of(image)), code)
        return out.astype(bool) if image.dtype == bool else out


class Grayscale(PyTensorOperation):
    """A gray image of Pillow's, with 1 or 3 channels.

    Examples:
        >>> import numpy as np
        >>> import lamella.dataset.vision as vision
        >>> image = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
        >>> vision.Grayscale(3)(vision.ToPIL()(image)).mode
        'RGB'
    """

    def __init__(self, num_output_channels: int = 1):
        self.num_output_channels = num_output_channels

    def transform(self, value: Any) -> Any:
        """The image."""
        return gray(need_pillow("Grayscale", value), self.num_output_channels)


def gray(image: Any, channels: int) -> Any:
    """A gray image of Pillow's."""
    out = image.convert("L")
    if channels == 3:
        array = np.asarray(out)
        out = pillow().fromarray(np.dstack([array] * 3))
    return out


def need_pillow(name: str, value: Any) -> Any:
    """An image of Pillow's.

    Raises:
        TypeError: if it is none.
    """
    if not is_pillow(value):
        raise TypeError(f"img should be PIL image. Got {type(value)}. Use Decode() for encoded "
                        f"data or ToPIL() for decoded data. For '{name}', an image of Pillow's is "
                        f"expected.")
    return value


class _Colors(PyTensorOperation):
    """The base of conversions of the three channels of each pixel."""

    def __init__(self, is_hwc: bool = False):
        self.is_hwc = is_hwc

    def transform(self, value: np.ndarray) -> np.ndarray:
        """The image, or batch of images, converted."""
        axis = -1 if self.is_hwc else -3
        if not isinstance(value, np.ndarray):
            raise TypeError(f"img should be NumPy image. Got {type(value)}.")
        if value.ndim not in (3, 4) or value.shape[axis] != 3:
            got = f"{value.shape[axis]} channels" if value.ndim in (3, 4) else (
                f"the shape {list(value.shape)}")
            raise TypeError(f"img should be 3 channels RGB img. Got {got}.")
        parts = np.moveaxis(value, axis, 0)
        return np.stack(np.vectorize(self._change, otypes=[float] * 3)(*parts), axis)

    _change: Any = None


class HsvToRgb(_Colors):
    """Hue, saturation and value as red, green and blue, all in [0, 1].

    Args:
        is_hwc: whether channels are last; else first.
    """

    _change = staticmethod(colorsys.hsv_to_rgb)


class RgbToHsv(_Colors):
    """Red, green and blue as hue, saturation and value, all in [0, 1].

    Args:
        is_hwc: whether channels are last; else first.
    """

    _change = staticmethod(colorsys.rgb_to_hsv)


class LinearTransformation(PyTensorOperation):
    """Subtract a mean vector from the flattened image, then multiply by a square matrix.

    Args:
        transformation_matrix: of shape (C * H * W, C * H * W).
        mean_vector: of shape (C * H * W,).
    """

    def __init__(self, transformation_matrix: np.ndarray, mean_vector: np.ndarray):
        rows, columns = transformation_matrix.shape
        if rows != columns:
            raise ValueError(f"transformation_matrix should be a square matrix. Got shape "
                             f"{transformation_matrix.shape} instead.")
        if mean_vector.shape[0] != rows:
            raise ValueError(f"mean_vector length {mean_vector.shape[0]} should match either one "
                             f"dimension of the squaretransformation_matrix {(rows, rows)}.")
        self.transformation_matrix, self.mean_vector = transformation_matrix, mean_vector

    def transform(self, value: np.ndarray) -> np.ndarray:
        """The new image."""
        if not isinstance(value, np.ndarray):
            raise TypeError(f"img should be NumPy array. Got {type(value)}")
        if value.size != self.transformation_matrix.shape[0]:
            raise ValueError(f"transformation_matrix shape {self.transformation_matrix.shape} not "
                             f"compatible with Numpy image shape {value.shape}.")
        flat = value.reshape(1, -1) - self.mean_vector
        return np.dot(flat, self.transformation_matrix).reshape(value.shape)


class DecodeVideo(ImageOperation):
    """Not supported: there is no video decoder.

    Raises:
        RuntimeError: always.
    """

    def __init__(self) -> None:
        raise DataError("DecodeVideo: videos can't be decoded; decode them with a package for "
                        "videos, such as PyAV, in a function of Python's.")


