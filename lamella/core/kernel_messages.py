"""Translates PyTorch's error messages into terms of the function that the user called.

Only this file depends on the wording of PyTorch's messages. It is used where a function didn't
check an argument itself. Of an unknown message only the type of the error is used; the error that
the user sees has PyTorch's own as its cause.
"""

from __future__ import annotations

import functools
import re

# PyTorch's names of types
_TYPES = {"Half": "Float16", "Float": "Float32", "Double": "Float64", "Char": "Int8",
          "Short": "Int16", "Int": "Int32", "Long": "Int64", "Byte": "UInt8",
          "ComplexFloat": "Complex64", "ComplexDouble": "Complex128", "BFloat16": "BFloat16"}
_NUMBER = r"(-?\d+)"
_EMPTY = "an empty tensor is not supported."
_KNOWN: tuple[tuple[str, str], ...] = (
    (r"on the same device", "the tensors must be on one device."),
    # types
    (r"\"[^\"]*\" not implemented for '(\w+)'", "tensors of type {0} are not supported."),
    (r"complex (numbers|tensors?|types?|inputs?|dtypes?)|for complex|complex tensor",
     "complex numbers are not supported."),
    (r"Expected a floating point or complex tensor as input\. Got (\w+)",
     "a floating type is needed, but got {0}."),
    (r"result type (\w+) can't be cast to the desired output type (\w+)",
     "a result of type {0} can't be kept in a tensor of type {1}."),
    (r"attempted to promote (\w+) and (\w+)", "there is no common type for {0} and {1}."),
    (r"expected (?:m1 and m2|scalar type) .*?(\w+) but found (\w+)",
     "one type is needed, but got {0} and {1}."),
    (r"(?:same|mixed) (?:data ?)?(?:d?type|scalar type)", "the tensors must have one type."),
    (r"to have (?:one of the following )?scalar types?:? ?(Long|Int)",
     "integers of type Int32 or Int64 are needed."),
    (r"bool(?:ean)? tensor|two bool tensors", "tensors of type Bool are not supported."),
    (r"argument '\w+' (?:\(position \d+\) )?must be (.+?), (?:not (.+?)|but .*type (\S+).*)$",
     "where a value of type {0} is needed, one of type {1} was given."),
    (r"combination of arguments", "arguments of these types do not go together."),
    (r"not (?:iterable|callable|subscriptable)|has no len|'(.+?)' object cannot be|"
     r"not supported between|unsupported operand|argument must be a|must be an iterable|"
     r"cannot be interpreted|unhashable|only integer tensors|indices must be integers|"
     r"0-dimensional arrays", "an argument is of a wrong type."),
    # values
    (rf"a Tensor with {_NUMBER} elements cannot be converted to Scalar",
     "a single number is needed, but got a tensor of {0} elements."),
    (r"single element|one element", "a single number is needed."),
    (r"p_in >= 0|probability .*(?:<|>)|between 0 and 1|invalid multinomial",
     "a probability must be in [0, 1]."),
    (r"got an unexpected error|INTERNAL ASSERT|Integral inputs|Type promoting|num groups|"
     r"to contain only concrete integers", "an argument has a value or type that doesn't fit."),
    (r"infs? or NaN|non-finite|not finite", "the numbers must be finite: no infinity and no NaN."),
    (r"non-negative|negative (?:value|n\b)|must be (?:>=|greater than or equal to) (?:0|zero)",
     "a value or size must be non-negative."),
    (rf"number of data points \({_NUMBER}\)", "the number of data points must be 1 or more, "
     "but got {0}."),
    (r"normalization mode|expected (?:\w+_)?mode to be|valid (?:values|options)",
     "a mode has a value that is not known."),
    (r"SymInt|IntArrayRef", "a number is too large or too small."),
    (r"MKL FFT", "a signal without elements can't be transformed."),
    (r"alpha must not be a floating", "with integers, 'alpha' must be an integer."),
    (r"of empty list", "a tensor of rank 1 or more is needed."),
    # indices and axes
    (rf"Dimension out of range \(expected to be in range of (\[.*?\]), but got {_NUMBER}\)",
     "the axis must be in {0}, but got {1}."),
    (rf"index {_NUMBER} is out of bounds for dimension {_NUMBER} with size {_NUMBER}",
     "the index {0} is out of range for dimension {1} of size {2}."),
    (rf"Target {_NUMBER} is out of bounds", "the class {0} is out of range."),
    (r"appears? (?:multiple|twice)|multiple times|duplicate dims|cannot be identical",
     "an axis is named twice."),
    (rf"index {_NUMBER}.* out of (?:range|bounds)|element is out of DATA bounds, id={_NUMBER}",
     "the index {0} is out of range."),
    (r"index out of range in self", "an index is out of range."),
    (r"out of (?:range|bounds)|out of DATA bounds|Indexing dim", "an index or axis is out of "
     "range."),
    (r"non-empty|is empty|non-zero size|numel\(\) == 0",
     _EMPTY),
    (r"weights sum to zero", "the weights must not add up to 0."),
    (r"Expected sequence length to be larger than 0", "a sequence must have at least one step."),
    (r"too small\. Calculated output", "the padding takes away more than the input has."),
    (r"infer total number of classes from empty", "there must be at least one class."),
    (r"heads in key and value must divide", "the number of heads in key and value must divide that "
     "in the query."),
    (r"size mismatch \(got input: \[(\d+)\], target: \[(\d+)\]\)",
     "there must be a label for each of the {0} rows, but there are {1}."),
    (r"cannot sample n_sample <= 0", "the number of samples must be 1 or more."),
    (rf"leading minor of order {_NUMBER} is not positive-definite",
     "the matrix is not positive-definite: its leading minor of order {0} isn't positive."),
    (r"singular|not positive-definite|could not be completed|failed to converge|ill-conditioned",
     "the matrix is singular, or the decomposition has no result for it."),
    (r"derivative for '?[\w:]*backward\w*'? is not implemented",
     "this has a gradient, but none of higher order, which a forward-mode derivative needs, too."),
    (r"not differentiable|derivative for .* is not implemented|does not support automatic "
     r"differentiation", "this has no derivative."),
    (r"single memory location", "a tensor whose elements share memory can't be changed in place; "
     "copy it first."),
    # shapes
    (rf"size of tensor a \({_NUMBER}\) must match the size of tensor b \({_NUMBER}\) at "
     rf"non-singleton dimension {_NUMBER}",
     "the shapes don't broadcast: at dimension {2} the sizes are {0} and {1}."),
    (r"broadcast|expanded size|^expand\(|number of sizes provided|Shape mismatch|shape mismatch",
     "the shapes don't broadcast."),
    (rf"batches of square matrices, but they are {_NUMBER} by {_NUMBER}",
     "square matrices are needed, but got {0} by {1} ones."),
    (rf"mat1 and mat2 shapes cannot be multiplied \({_NUMBER}x{_NUMBER} and {_NUMBER}x{_NUMBER}\)",
     "a {0} by {1} and a {2} by {3} matrix can't be multiplied."),
    (r"cannot be multiplied|first two dimensions of batch2|size mismatch, got|vector \+ matrix|"
     r"Incompatible|last dimension must match", "the sizes of the matrices don't fit."),
    (r"only one dimension can be inferred", "at most one of the sizes can be -1."),
    (rf"shape '(\[.*?\])' is invalid for input of size {_NUMBER}",
     "{1} elements can't take the shape {0}."),
    (rf"at least {_NUMBER}[- ]?[dD]?(?:im)?", "a tensor of rank {0} or more is needed."),
    (r"has no dimensions", "a tensor of rank 1 or more is needed."),
    (rf"\b{_NUMBER} or more dim", "a tensor of rank {0} or more is needed."),
    (r"divisible", "a size must be divisible by another."),
    (r"square", "square matrices are needed."),
    (r"Padding (?:size|length)|padding should be|pad should be",
     "the padding doesn't fit the size."),
    (r"channels", "the number of channels doesn't fit."),
    (r"Output size is too small|smaller than kernel|greater than actual input",
     "the kernel is larger than the input."),
    (r"[kK]ernel.size|kernel size|primitive descriptor|dilation|stride",
     "the sizes of the kernel, stride, padding or dilation don't fit."),
    (r"[Dd]imension(?:s|al|ality)?\b|\b[0-9n]-?[dD]\b|\bdims?\b.*(?:expected|should|must|got)|"
     r"must be a (?:matrix|vector)|1D|2D|too many indices|number of dims|tensor of rank",
     "the rank or a size of a tensor doesn't fit."),
    (r"batch.?size|same (?:size|shape|length|number)|sizes? of tensors must match|equal|incorrect "
     r"size|inconsistent|doesn't match|should contain|to have size|not match|multiply up|"
     r"must match|Target size|unpack|zip\(\)|specified in the equation",
     "the shapes of the arguments don't fit together."),
    (r"negative", "a value or size must not be negative."),
)
# words in messages about shapes and values, about types, and about failures that don't depend on
# the arguments
_SHAPE_WORDS = ("shape", "size", "dimension", "mat1", "broadcast", "expand", "must match",
                "out of range", "channels", "expected input", "numel", "split", "square",
                "non-negative", "negative n", "not finite",
                "infs or NaNs", "non-finite", "non-empty", "is empty", "subscript", "equation",
                "einsum", "at least 1D", "Pivots given", "non-positive", "expects dims",
                "expects a", "must be", "positive",
                "number of data points", "normalization mode", "PyList_Check", "`shifts` required",
                "at least one axis", "Order ", "unsupported range", "only supports at least",
                "number of columns", "expected maxnorm", "too large relative", "1-D", "1-d",
                "expected rounding_mode", "expects p", "Indexing dim", "Index has to be",
                "probability tensor", "cannot sample", "expects std", "out of bounds for",
                "supported on matrices", "vector + matrix", "doesn't match the broadcast")
_TYPE_WORDS = ("dtype", "not implemented for", "scalar type", "Expected all tensors", "type",
               "found Long", "complex", "ScalarType", "Expected both inputs", "not support bool",
               "bool tensor", "boolean", "Boolean", "real number")
_FAILURES = ("allocate", "out of memory", "CUDA", "cuBLAS", "singular", "positive-definite",
             "INTERNAL ASSERT", "requires grad", "leaf Variable", "modified by an inplace")
_NO_UNSIGNED = re.compile(r"not implemented for '(UInt|u?int)(16|32|64)'|Promotion for uint16|"
                          r"AccumulateType|not (supported|defined) for.*UInt")
# an index out of range: MindSpore's kernels raise RuntimeError, the functions in `_CHECKED`
# ValueError
_OUTSIDE = re.compile(r"ind(ex|ices)\b.*out of (bounds|range)|^Target -?\d+ is out of bounds")
_OF_DERIVATIVES = re.compile(r"derivative|forward AD|jvp")
_REPEATED = ("std", "var", "std_mean", "var_mean", "norm", "vector_norm", "max", "min")
_CHECKED = ("tensor_scatter_update", "scatter_nd_update", "inplace_add", "inplace_sub",
            "inplace_update")
# PyTorch's messages about batched tensors of a `vmap`
_OF_VMAP = {
    "It looks like you're": "inside 'vmap' a Tensor stands for many examples, so it can't become a "
                            "Python value (by if, while, int(), float(), item()); choose with "
                            "ops.where or ops.select.",
    "dynamic shape": "inside 'vmap' the shape of a result can't depend on values, which differ "
                     "between the examples; keep all elements, and choose with ops.where.",
    "differently shaped Tensor": "inside 'vmap' the shape of a result can't depend on values, which"
                                 " differ between the examples; keep all elements, and choose with "
                                 "ops.where.",
    "same randomness with a batched": "inside 'vmap' random numbers can't be drawn by a Tensor "
                                      "that differs between the examples; draw them before, or "
                                      "call the operator in a loop.",
    "randomness error mode": "inside 'vmap' with randomness='error' no random numbers can be "
                             "drawn; draw them before, or choose 'different' or 'same'.",
    "different inplace randomness": "inside 'vmap' random numbers of each example's own can't be "
                                    "written into a Tensor that is the same for all; use an "
                                    "operator that gives a new Tensor, or randomness='same'.",
    "data pointer of Tensor that": "inside 'vmap' a Tensor stands for many examples and has no "
                                   "memory of its own.",
    "storage of BatchedTensorImpl": "inside 'vmap' a Tensor stands for many examples and has no "
                                    "memory of its own.",
    "due to `other` being vmapped": "inside 'vmap' what is the same for all examples can't be "
                                    "changed in place by what differs between them.",
    "may have escaped": "a Tensor made inside 'vmap' means nothing when that is over; return it "
                        "from the function."}
# the name of a kernel, or the position in its source
_PREFIX = re.compile(r"^(\[enforce fail.*?\] .*?\. )?((torch\.)?[\w.]+(\(\))?: (?=\w))?")
_OF_KIND = {ValueError: "the shapes or values of the arguments don't fit together.",
            TypeError: "arguments of these types don't go together.",
            IndexError: "an index is out of range."}


# what is said where the message doesn't tell which argument it is
VAGUE = ("arguments of these types do not go together.",
         "arguments of these types don't go together.", "an argument is of a wrong type.")


@functools.lru_cache(1)
def _compiled() -> list[tuple[re.Pattern[str], str]]:
    return [(re.compile(pattern), meaning) for pattern, meaning in _KNOWN]


def meaning(message: str, kind: type[Exception], empty: bool = True) -> str | None:
    """What a message of PyTorch's means; None if that isn't known.

    Args:
        empty: whether an argument has no elements, which can be the reason.

    >>> meaning("mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)", ValueError)
    "a 2 by 3 and a 4 by 5 matrix can't be multiplied."
    >>> meaning("words of a later version", TypeError)
    "arguments of these types don't go together."
    """
    for pattern, words in _compiled():
        found = pattern.search(message)
        if found is None or (words is _EMPTY and not empty):
            continue
        groups = [_TYPES.get(g, g) for g in found.groups() if g is not None]
        return words.format(*groups) if len(groups) >= words.count("{") else _OF_KIND.get(kind)
    return _OF_KIND.get(kind)


def without_prefix(message: str) -> str:
    """A message without the name of the kernel or the position in its source.

    >>> without_prefix("linalg.inv: The diagonal element 1 is zero")
    'The diagonal element 1 is zero'
    """
    return _PREFIX.sub("", message)


def is_failure(message: str) -> bool:
    """Whether shapes and types aren't the reason, but a lack of memory, a singular matrix, ..."""
    return any(word in message for word in _FAILURES)


def of_vmap(text: str) -> str:
    """The advice for a message about `vmap`; "" for any other message."""
    return next((advice for words, advice in _OF_VMAP.items() if words in text), "")


def lacks_unsigned_kernel(error: BaseException) -> bool:
    """Whether PyTorch said that it has no kernel for unsigned integers."""
    return isinstance(error, RuntimeError) and _NO_UNSIGNED.search(str(error)) is not None


def error_type(name: str, error: BaseException, message: str) -> type[Exception] | None:
    """The type of error to raise for a kernel's error; None if that stays as it is."""
    if message in ("tuple index out of range", "list index out of range"):
        return IndexError
    if isinstance(error, (IndexError, RuntimeError)) and _OUTSIDE.search(message):
        return ValueError if name in _CHECKED else RuntimeError
    if "multiple times in the list of dims" in message or "duplicate dims" in message:
        return ValueError if name in _REPEATED else RuntimeError
    if isinstance(error, IndexError):
        return IndexError if "index" in message else ValueError
    if isinstance(error, (TypeError, ValueError)):
        return type(error) if type(error) in (TypeError, ValueError) else None
    if not isinstance(error, RuntimeError):
        return None
    if isinstance(error, NotImplementedError) and not _OF_DERIVATIVES.search(message):
        return TypeError  # no kernel for a type or a kind of tensor
    if is_failure(message):
        return RuntimeError
    if any(word in message for word in _TYPE_WORDS) and "size" not in message:
        return TypeError
    return ValueError if any(word in message for word in _SHAPE_WORDS) else RuntimeError
