"""Principal components of checkpoints, against scikit-learn's."""

import numpy as np
import pytest

from lamella.boost.principal import _components


def test_components_are_those_of_deviations_from_the_mean():
    from sklearn.decomposition import PCA  # which takes seconds to import

    data = np.random.default_rng(0).normal(3.0, [1.0, 5.0, 2.0, 0.5], (9, 4)).astype("f4")
    found, wanted = _components(data, 2), PCA(2).fit(data).components_
    np.testing.assert_allclose(np.abs((found * wanted).sum(1)), 1, rtol=1e-5)  # but for the sign


def test_components_need_as_many_checkpoints():
    with pytest.raises(ValueError, match="there must be 3 checkpoints, 'n_components', but got 2"):
        _components(np.ones((2, 4), np.float32), 3)
