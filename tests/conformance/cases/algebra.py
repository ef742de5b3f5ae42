"""Products, linear algebra and Fourier transforms."""

from ..spec import ALL, each, many

FLAT = ("float32", "float64", "complex64", "int32")
CASES = [
    *many(
        """
        ops.matmul(x, y)
        x @ y
        ops.mm(x, y)
        ops.mm(x, x)
        ops.matmul(x, x)
        ops.matmul(x, y[:, 0])
        ops.mv(x, y[:, 0])
        ops.bmm(x.reshape(1, 2, 3), y.reshape(1, 3, 2))
        ops.addmm(x[:, :2], x, y)
        ops.addmv(x[:, 0], x, y[:, 0])
        ops.addr(x, x[:, 0], y[:, 0])
        ops.addbmm(x[:, :2], x.reshape(1, 2, 3), y.reshape(1, 3, 2))
        ops.baddbmm(x[:, :2].reshape(1, 2, 2), x.reshape(1, 2, 3), y.reshape(1, 3, 2))
        ops.tensor_dot(x, y, 1)
        ops.tensor_dot(x, y, ((0,), (1,)))
        ops.einsum('ij,jk->ik', x, y)
        ops.einsum('ij,ij->', x, x)
        ops.batch_dot(x, x)
        P.MatMul()(x, y)
        P.MatMul(transpose_b=True)(x, x)
        P.BatchMatMul()(x.reshape(1, 2, 3), y.reshape(1, 3, 2))
        ops.dense(x, x)
        """,
        ALL,
        grad=True,
        graph=True,
        x="[2,3]",
        y="[3,2]",
    ),
    *many(
        """
        ops.inverse(a)
        ops.det(a)
        ops.logdet(a)
        ops.slogdet(a)
        ops.matrix_power(a, 2)
        ops.matrix_power(a, -1)
        ops.matrix_exp(a)
        ops.cholesky(a)
        ops.cholesky(a, True)
        ops.cholesky_inverse(a)
        ops.cholesky_solve(a, a)
        ops.pinv(a)
        ops.eigvals(a)
        ops.cond(a)
        ops.lstsq(a, a)
        ops.matrix_solve(a, a)
        ops.svd(a, compute_uv=False)
        ops.adjoint(a)
        ops.geqrf(a)
        ops.cdist(a, a + 1)
        ops.cdist(a, a, 1.0)
        """,
        FLAT,
        grad=True,
        graph=True,
        a="[2,2]=2,1,1,3",
    ),
    *[
        c
        for line in (
            "ops.inverse(a)",
            "ops.det(a)",
            "ops.slogdet(a)",
            "ops.cholesky(a)",
            "ops.pinv(a)",
        )
        for form in ("[2,2]=1,2,2,4", "[2,3]", "[0,0]", "[2]", "[2,2]=1,2,3,1")
        for c in each(line, a=form)
    ],
    *many(
        """
        ops.fft(x)
        ops.ifft(x)
        ops.rfft(x)
        ops.irfft(x)
        ops.hfft(x)
        ops.ihfft(x)
        ops.fft(x, 5)
        ops.fft(x, -1)
        ops.fft(x, dim=0)
        ops.fft(x, dim=3)
        ops.fft(x, norm='ortho')
        ops.fft(x, norm='other')
        ops.fft2(x)
        ops.ifft2(x)
        ops.rfft2(x)
        ops.irfft2(x)
        ops.fftn(x)
        ops.ifftn(x)
        ops.rfftn(x)
        ops.irfftn(x)
        ops.fftshift(x)
        ops.ifftshift(x, 0)
        """,
        ("float32", "float64", "float16", "int32", "uint16", "complex64"),
        grad=True,
        graph=True,
        x="[2,4]",
    ),
]
