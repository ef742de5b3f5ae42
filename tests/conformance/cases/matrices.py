"""Decompositions, solvers, diagonals and other functions of matrices."""

from ..spec import many

CASES = [
    *many(
        """
        ops.abs(ops.eig(x)[0]).sum()
        P.Eig(False)(x).real().sum()
        ops.abs(ops.qr(x)[0])
        ops.abs(ops.qr(x, 'complete')[1])
        x.qr()[0].abs()
        P.Qr(False)(x)[1].abs()
        P.Svd(False)(x)
        P.Svd(True)(x)[0]
        ops.svd(x, compute_uv=False)
        ops.matrix_determinant(x)
        x.matrix_determinant()
        ops.log_matrix_determinant(x)
        x.log_matrix_determinant()
        ops.orgqr(x, x[0])
        x.orgqr(x[0])
        P.Orgqr()(x, x[0])
        ops.ormqr(x, x[0], y)
        ops.ormqr(x, x[0], y, False, True)
        x.ormqr(x[0], y)
        P.Ormqr()(x, x[0], y)
        P.Geqrf()(x)
        ops.lu_solve(y, x, i)
        y.lu_solve(x, i)
        P.LuSolve()(y, x, i)
        ops.lu_unpack(x, i)
        ops.lu_unpack(x, i, unpack_data=False)
        P.LuUnpack()(x, i)
        P.Lstsq()(x, y)
        P.MatrixSolve()(x, y)
        P.MatrixSolve(True)(x, y)
        P.MatrixSolveLs()(x, y, Tensor(0.1, ms.float64))
        P.MatrixTriangularSolve()(x, y)
        P.MatrixTriangularSolve(False, True)(x, y)
        x.triangular_solve(y)
        P.MatrixExp()(x)
        P.MatrixPower(3)(x)
        P.MatrixPower(0)(x)
        P.MatrixLogarithm()(x)
        P.Cholesky()(ops.matmul(x, x.swapaxes(0, 1)) + ops.eye(3, 3, x.dtype))
        P.CholeskyInverse()(x)
        P.CholeskySolve()(y, x)
        P.TridiagonalMatMul()(x[:1], y[:1], x[1:2], y)
        P.NuclearNorm()(x)
        P.NuclearNorm([0, 1], True)(x)
        P.Outer()(x[0], y[0])
        P.Cdist()(x, y)
        P.Cdist(1.0)(x, y)
        P.Pdist(1.0)(x)
        nn.MatDet()(x)
        nn.MatInverse()(ops.matmul(x, x.swapaxes(0, 1)) + ops.eye(3, 3, x.dtype))
        P.Einsum('ij,jk->ik')((x, y))
        P.MatMul(True, False)(x, y)
        P.BatchMatMul(False, True)(x[None], y[None])
        P.BatchMatMulExt()(x[None], y[None])
        P.MatMulExt()(x, y)
        ops.bidense(x, y, x[None])
        """,
        ("float32", "float64", "complex64", "float16", "int32"),
        grad=True,
        x="[3,3]^",
        y="[3,3]",
        i="int32[3]=2,3,3",
    ),
    *many(
        """
        ops.matrix_diag(x)
        ops.matrix_diag(x, Tensor([-1, 0], ms.int32))
        ops.matrix_diag(x, Tensor([0, 1], ms.int32), 3, 4, Tensor(7, x.dtype), 'LEFT_LEFT')
        ops.matrix_diag_part(x)
        ops.matrix_diag_part(x, 1, Tensor(7, x.dtype))
        ops.matrix_diag_part(x, Tensor([-1, 1], ms.int32), Tensor(7, x.dtype), 'RIGHT_LEFT')
        ops.matrix_diag_part(x, Tensor([5, 6], ms.int32), Tensor(7, x.dtype))
        ops.matrix_set_diag(x, x[0, :2])
        ops.matrix_set_diag(x, x[:, :2], Tensor([0, 1], ms.int32), 'LEFT_RIGHT')
        P.MatrixDiagV3()(x, Tensor([0, 1], ms.int32), 3, 4, Tensor(7, x.dtype))
        P.MatrixDiagPartV3()(x, Tensor([0, 1], ms.int32), Tensor(7, x.dtype))
        P.MatrixSetDiagV3()(x, x[0, :2], Tensor(0, ms.int32))
        nn.MatrixDiag()(x)
        nn.MatrixDiagPart()(x)
        nn.MatrixSetDiag()(x, x[0, :2])
        P.Diag()(x)
        P.TrilIndices(3, 4, -1)()
        P.TriuIndices(3, 4, 1)()
        ops.tril_indices(3, 4, 1)
        P.Zeros()((2, 3), x.dtype)
        P.Ones()((2, 3), x.dtype)
        nn.Tril()(x)
        nn.Triu()(x, 1)
        """,
        ("float32", "int32", "uint16", "bool", "complex64", "float16", "int8"),
        grad=True,
        x="[2,3]^",
    ),
]
