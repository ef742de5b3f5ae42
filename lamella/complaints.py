"""What PyTorch's complaints mean, in words that fit the function that the user called.

This is the last resort: a function that knows what it wants of an argument says so itself. A
complaint that isn't known here is told by its kind alone; the error that a user sees has it as its
cause, word by word.
"""

from __future__ import annotations

import functools
import re

# PyTorch's names of types
_TYPES = {"Half": "Float16", "Float": "Float32", "Double": "Float64", "Char": "Int8",
          "Short": "Int16", "Int": "Int32", "Long": "Int64", "Byte": "UInt8",
          "ComplexFloat": "Complex64", "ComplexDouble": "Complex128", "BFloat16": "BFloat16"}
_NUMBER = r"(-?\d+)"
_KNOWN: tuple[tuple[str, str], ...] = (
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
     "whole numbers of type Int32 or Int64 are needed."),
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
    (r"alpha must not be a floating", "with whole numbers, 'alpha' must be a whole number."),
    (r"of empty list", "a tensor of rank 1 or more is needed."),
    # places
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
    (r"non-empty|is empty|non-zero size|numel\(\) == 0|has no dimensions",
     "an empty tensor is not supported."),
    (r"cannot sample n_sample <= 0", "the number of samples must be 1 or more."),
    (rf"leading minor of order {_NUMBER} is not positive-definite",
     "the matrix is not positive-definite: its leading minor of order {0} isn't positive."),
    (r"singular|not positive-definite|could not be completed|failed to converge|ill-conditioned",
     "the matrix is singular, or the decomposition has no result for it."),
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
    (rf"shape '(\[.*?\])' is invalid for input of size {_NUMBER}",
     "{1} elements can't take the shape {0}."),
    (rf"at least {_NUMBER}[- ]?[dD]?(?:im)?", "a tensor of rank {0} or more is needed."),
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
_OF_KIND = {ValueError: "the shapes or values of the arguments don't fit together.",
            TypeError: "arguments of these types don't go together.",
            IndexError: "an index is out of range."}


@functools.lru_cache(1)
def _compiled() -> list[tuple[re.Pattern[str], str]]:
    return [(re.compile(pattern), meaning) for pattern, meaning in _KNOWN]


def meaning(complaint: str, kind: type[Exception]) -> str | None:
    """A complaint of PyTorch's in other words; None if nothing is known but that it failed.

    >>> meaning("mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)", ValueError)
    "a 2 by 3 and a 4 by 5 matrix can't be multiplied."
    >>> meaning("words of a later version", TypeError)
    "arguments of these types don't go together."
    """
    for pattern, words in _compiled():
        found = pattern.search(complaint)
        if found is None:
            continue
        groups = [_TYPES.get(g, g) for g in found.groups() if g is not None]
        return words.format(*groups) if len(groups) >= words.count("{") else _OF_KIND.get(kind)
    return _OF_KIND.get(kind)
