"""The examples of Primitive classes, many of which are those of the functions that they compute."""

import doctest
import inspect

from lamella import ops
from lamella.core.primitive import Primitive, examples_of, primitive


def test_examples_of_primitives_run():
    # pytest doesn't find them in classes that a function has made
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    shown = []
    for name, kind in vars(ops).items():
        if not (isinstance(kind, type) and issubclass(kind, Primitive)
                and "<locals>" in kind.__init__.__qualname__):
            continue
        text = inspect.getdoc(kind) or ""
        if f"ops.{name}(" in text:
            test = doctest.DocTestParser().get_doctest(text, {}, name, None, None)
            assert runner.run(test).failed == 0, name
            shown.append(name)
    assert len(shown) > 220 and {"Sin", "ScatterNdAdd", "MatMul", "ReduceSum"} <= set(shown)


def test_only_examples_that_call_the_function_are_taken():
    def twice(x):
        """Two times x.

        Examples:
            >>> import lamella as ms
            >>> print(ms.ops.twice(3))
            6
        """

    def method(x):
        """Two times x.

        Examples:
            >>> print(ms.Tensor(3).twice())
            6
        """

    taken = inspect.cleandoc(f"Two times x.{examples_of('Twice', twice)}")
    assert taken.endswith("print(ms.ops.Twice()(3))\n    6")
    assert taken.splitlines()[2] == "Examples:"
    assert examples_of("Twice", method) == ""
    assert examples_of("Twice", lambda x: x) == ""
    assert primitive("Twice", lambda x: x).__doc__ == (
        "The operator `Twice` as an object, without attributes.")
