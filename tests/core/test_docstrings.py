"""Sections of docstrings that functions share."""

import functools

from lamella.core.docstrings import documented_like


def source(x, axis, *, keep):
    """The source.

    Note:
        Only of the source.

    Args:
        x, axis: of `axis` and x.
            axis stays here.
        keep: as it is.

    Returns:
        What `x + axis` gives, axis too.

    Raises:
        ValueError: if `keep` is wrong.

    Examples:
        >>> source(1, 2, keep=3)
    """


def test_missing_sections_are_taken_with_the_functions_own_names():
    @documented_like(source)
    def other(y, dim, *, keep):
        """The other,
        in two lines.

        Examples:
            >>> other(1, 2)

        Returns:
            Its own.
        """

    # in the usual order; names change in backquotes and where parameters are listed
    assert other.__doc__ == """The other,
        in two lines.

        Examples:
            >>> other(1, 2)

        Returns:
            Its own.

    Args:
        y, dim: of `dim` and x.
            axis stays here.
        keep: as it is.

    Returns:
        What `y + dim` gives, axis too.

    Raises:
        ValueError: if `keep` is wrong.
    """  # sections of an inner function are indented deeper, so they belong to its head


def own(x, axis, *, keep):
    """Its own.

    Examples:
        >>> own(1, 2, keep=3)

    Returns:
        Another thing.
    """


def test_its_own_sections_stay_and_come_in_the_usual_order():
    made = documented_like(source)(own)
    assert made is own
    heads = [line.strip() for line in own.__doc__.splitlines() if line.endswith(":")]
    assert heads == ["Args:", "Returns:", "Raises:", "Examples:"]
    assert "Another thing." in own.__doc__ and "What `x" not in own.__doc__
    assert "x, axis: of `axis` and x." in own.__doc__ and "Only of the source" not in own.__doc__


def test_names_are_those_of_what_is_wrapped():
    @functools.wraps(source)
    def wrapped(*args, **kwargs):
        return args

    @documented_like(wrapped)
    def other(a, b, *, keep):
        """The other."""

    assert "a, b: of `b` and x." in other.__doc__


def test_without_texts_nothing_changes():
    def bare(x):
        pass

    assert documented_like(source)(bare).__doc__ is None

    @documented_like(bare)
    def told(x):
        """Told."""

    assert told.__doc__ == "Told."
