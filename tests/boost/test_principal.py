"""Principal components of checkpoints, against scikit-learn's."""

import numpy as np
import pytest

import lamella as ms
from lamella.boost.principal import _components, local_components


def test_components_are_those_of_deviations_from_the_mean():
    from sklearn.decomposition import PCA  # which takes seconds to import

    data = np.random.default_rng(0).normal(3.0, [1.0, 5.0, 2.0, 0.5], (9, 4)).astype("f4")
    found, wanted = _components(data, 2), PCA(2).fit(data).components_
    np.testing.assert_allclose(np.abs((found * wanted).sum(1)), 1, rtol=1e-5)  # but for the sign


def test_components_need_as_many_checkpoints():
    with pytest.raises(ValueError, match="there must be 3 checkpoints, 'n_components', but got 2"):
        _components(np.ones((2, 4), np.float32), 3)
    assert _components(np.eye(3, 4, dtype=np.float32), 3).shape == (3, 4)


def test_each_process_has_its_rows_of_the_components(tmp_path):
    whole = np.arange(20, dtype=np.float32).reshape(5, 4)
    path = tmp_path / "whole.npy"
    np.save(path, whole)
    found = [np.load(local_components(None, str(path), 5, rank, 2, ms.nn.Cell()))
             for rank in (0, 1)]
    np.testing.assert_array_equal(found[0], whole[:3])
    np.testing.assert_array_equal(found[1], [*whole[3:], [0] * 4])
    assert sorted(each.name for each in tmp_path.iterdir()) == [
        "whole.npy", "whole_rank_0.npy", "whole_rank_1.npy"]


def test_components_of_a_folder_of_checkpoints(tmp_path):
    net, rows = ms.nn.Dense(2, 1), np.random.default_rng(0).normal(2, 1, (4, 3)).astype("f4")
    for i, row in enumerate(rows):
        net.weight.set_data(ms.Tensor(row[None, :2]))
        net.bias.set_data(ms.Tensor(row[2:]))
        ms.save_checkpoint(net, str(tmp_path / f"{i}.ckpt"))
    (tmp_path / "other.txt").write_text("no checkpoint")
    path = local_components(str(tmp_path), None, 2, 0, 1, net)
    assert path == str(tmp_path / "pca_mat_temp_rank_0.npy")
    np.testing.assert_array_equal(np.load(path), _components(rows, 2))
    np.testing.assert_array_equal(np.load(tmp_path / "pca_mat_temp.npy"), np.load(path))


@pytest.mark.parametrize("folder, file", [(None, None), ("/no/such", None), (None, __file__)])
def test_neither_components_nor_checkpoints(folder, file):
    with pytest.raises(ValueError, match="must be a folder with checkpoints, or 'pca_mat_path'"):
        local_components(folder, file, 2, 0, 1, ms.nn.Cell())
