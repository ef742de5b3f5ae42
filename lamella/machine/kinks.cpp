// A gradient times the derivative of a function of three pieces, in one pass: below a bound, between
// two bounds, where the derivative may be linear, and above. At each bound it has a value of its own.

#include <ATen/Parallel.h>
#include <ATen/ops/empty_like.h>
#include <Python.h>
#include <torch/library.h>

#include <algorithm>

namespace {

constexpr int64_t WORTH = 1 << 15;  // numbers for which a thread is worth starting

// `slopes`: below, at the lower bound, between (times x, and what is added), at the upper bound,
// above, and of NaN.
at::Tensor kinks_backward(const at::Tensor& grad, const at::Tensor& x, double low, double high,
                          at::ArrayRef<double> slopes) {
  TORCH_CHECK(x.scalar_type() == at::kFloat && grad.scalar_type() == at::kFloat && x.is_cpu() &&
                  grad.is_cpu() && x.is_contiguous() && grad.sizes() == x.sizes() &&
                  slopes.size() == 7,
              "kinks_backward: x and grad must be float32, of one shape, and x contiguous");
  const auto strides = grad.strides();
  const bool one = std::all_of(strides.begin(), strides.end(), [](int64_t s) { return s == 0; });
  const at::Tensor given = one ? grad : grad.contiguous();
  auto out = at::empty_like(x);
  const float *from = x.const_data_ptr<float>(), *by = given.const_data_ptr<float>();
  auto* to = out.mutable_data_ptr<float>();
  const auto first = float(low), last = float(high), below = float(slopes[0]),
             at_first = float(slopes[1]), factor = float(slopes[2]), added = float(slopes[3]),
             at_last = float(slopes[4]), above = float(slopes[5]), none = float(slopes[6]);
  const auto part = [=](int64_t begin, int64_t end, auto gradient) {
#pragma omp simd
    for (int64_t i = begin; i < end; ++i) {
      const float v = from[i];
      float slope = v * factor + added;
      slope = v < first ? below : slope;
      slope = v > last ? above : slope;
      slope = v == first ? at_first : slope;
      slope = v == last ? at_last : slope;
      slope = v != v ? none : slope;
      to[i] = gradient(i) * slope;
    }
  };
  at::parallel_for(0, x.numel(), WORTH, [&](int64_t begin, int64_t end) {
    if (const float g = one && x.numel() ? *by : 0.f; one)
      part(begin, end, [g](int64_t) { return g; });
    else
      part(begin, end, [by](int64_t i) { return by[i]; });
  });
  return out;
}

TORCH_LIBRARY_FRAGMENT(lamella, m) {
  m.def("kinks_backward(Tensor grad, Tensor x, float low, float high, float[] slopes) -> Tensor");
}
TORCH_LIBRARY_IMPL(lamella, CPU, m) { m.impl("kinks_backward", kinks_backward); }

PyModuleDef MODULE = {PyModuleDef_HEAD_INIT, "lamella_kinks", nullptr, -1};

}  // namespace

PyMODINIT_FUNC PyInit_lamella_kinks() { return PyModule_Create(&MODULE); }
