// Cross entropy of logits with classes, and its gradient, without the logarithms of probabilities:
// of each row only its largest number and the logarithm of the sum of exponentials relative to it are
// kept, in float32. The logits are read as they are, in float32 or bfloat16, and the gradient is
// written in either type.

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <Python.h>
#include <torch/library.h>

#include <algorithm>
#include <cmath>

#include "numbers.h"

namespace {

constexpr int64_t PIECE = 1024;  // numbers that are computed at a time
enum Reduction { NONE, MEAN, SUM };

// Calls `one(first, count)` for the pieces of a row.
template <typename F>
inline void in_pieces(int64_t width, F one) {
  for (int64_t i = 0; i < width; i += PIECE) one(i, std::min(PIECE, width - i));
}

// What the logarithm of a probability is below a logit. Apart, as their sum would be rounded.
struct Sums {
  float largest, logarithm;  // of the sum of exponentials; NaN if any number is

  float of(float x) const { return x - largest - logarithm; }
};

template <typename T>
Sums sums_of(const T* row, int64_t width) {
  float largest = -std::numeric_limits<float>::infinity();
#pragma omp simd reduction(max : largest)
  for (int64_t i = 0; i < width; ++i) largest = wide(row[i]) > largest ? wide(row[i]) : largest;
  double total = 0;
  in_pieces(width, [&](int64_t first, int64_t count) {
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < count; ++i) sum += exponential(wide(row[first + i]) - largest);
    total += sum;
  });
  return {largest, float(std::log(total))};
}

template <typename T>
void losses(const at::Tensor& x, const int64_t* classes, int64_t ignored, Sums* sums, float* out) {
  const int64_t width = x.size(1);
  const T* from = static_cast<const T*>(x.const_data_ptr());
  at::parallel_for(0, x.size(0), std::max<int64_t>(1, 32768 / width), [&](int64_t i, int64_t end) {
    for (; i < end; ++i) {
      const T* row = from + i * width;
      sums[i] = sums_of(row, width);
      out[i] = classes[i] == ignored ? 0.f : -sums[i].of(wide(row[classes[i]]));
    }
  });
}

template <typename T, typename G>
void gradients(const at::Tensor& x, const int64_t* classes, int64_t ignored, const Sums* sums,
               const float* scales, int64_t step, at::Tensor& gradient) {
  const int64_t width = x.size(1);
  const T* from = static_cast<const T*>(x.const_data_ptr());
  G* to = static_cast<G*>(gradient.mutable_data_ptr());
  at::parallel_for(0, x.size(0), std::max<int64_t>(1, 32768 / width), [&](int64_t i, int64_t end) {
    for (; i < end; ++i) {
      const T* row = from + i * width;
      G* line = to + i * width;
      const bool counts = classes[i] != ignored;
      const Sums sum = sums[i];
      const float scale = counts ? scales[i * step] : 0.f;
#pragma omp simd
      for (int64_t c = 0; c < width; ++c)
        line[c] = narrow<G>(exponential(sum.of(wide(row[c]))) * scale);  // NaN stays, times 0 too
      if (counts) {
        const float own = exponential(sum.of(wide(row[classes[i]])));
        line[classes[i]] = narrow<G>((own - 1.f) * scale);
      }
    }
  });
}

void check(const char* name, const at::Tensor& x, const at::Tensor& target, int64_t reduction) {
  TORCH_CHECK(x.dim() == 2 && x.is_contiguous() && x.is_cpu() && x.size(1) > 0 &&
                  (x.scalar_type() == at::kFloat || x.scalar_type() == at::kBFloat16),
              name, ": x must be (N, C) in rows, in float32 or bfloat16");
  TORCH_CHECK(target.dim() == 1 && target.size(0) == x.size(0) && target.is_contiguous() &&
                  target.scalar_type() == at::kLong && target.is_cpu(),
              name, ": target must be (N,) in int64");
  TORCH_CHECK(reduction >= NONE && reduction <= SUM, name, ": reduction must be 0, 1 or 2");
}

// Checks the classes; returns how many aren't ignored.
int64_t counted(const char* name, const at::Tensor& target, int64_t classes, int64_t ignored) {
  const int64_t* each = target.const_data_ptr<int64_t>();
  int64_t count = 0;
  for (int64_t i = 0; i < target.numel(); ++i) {
    if (each[i] == ignored) continue;
    TORCH_CHECK_INDEX(each[i] >= 0 && each[i] < classes, name, ": target ", each[i],
                      " is out of bounds for ", classes, " classes.");
    ++count;
  }
  return count;
}

// The loss, how many rows count, and of each row the largest number and the logarithm of the sum.
std::tuple<at::Tensor, at::Tensor, at::Tensor> cross_entropy(
    const at::Tensor& x, const at::Tensor& target, int64_t reduction, int64_t ignored) {
  check("cross_entropy", x, target, reduction);
  const int64_t rows = x.size(0), count = counted("cross_entropy", target, x.size(1), ignored);
  const auto options = x.options().dtype(at::kFloat);
  auto sums = at::empty({rows, 2}, options), each = at::empty({rows}, options);
  auto total = at::empty({}, options), loss = reduction == NONE ? each : at::empty({}, options);
  const auto* classes = target.const_data_ptr<int64_t>();
  auto* its = static_cast<Sums*>(sums.mutable_data_ptr());
  auto* out = each.mutable_data_ptr<float>();
  x.scalar_type() == at::kFloat ? losses<float>(x, classes, ignored, its, out)
                                : losses<Bits>(x, classes, ignored, its, out);
  *total.mutable_data_ptr<float>() = reduction == NONE ? 0.f : float(count);
  if (reduction != NONE) {
    double sum = 0;
    for (int64_t i = 0; i < rows; ++i) sum += out[i];
    *loss.mutable_data_ptr<float>() = float(reduction == MEAN ? sum / double(count) : sum);
  }
  return {loss, total, sums};
}

// The gradient by x, in bfloat16 if `in_narrow`.
at::Tensor cross_entropy_backward(const at::Tensor& grad, const at::Tensor& x,
                                  const at::Tensor& target, const at::Tensor& sums,
                                  int64_t reduction, int64_t ignored, bool in_narrow) {
  const char* name = "cross_entropy_backward";
  check(name, x, target, reduction);
  const int64_t rows = x.size(0), count = counted(name, target, x.size(1), ignored);
  TORCH_CHECK(sums.dim() == 2 && sums.size(0) == rows && sums.size(1) == 2 && sums.is_contiguous() &&
                  sums.scalar_type() == at::kFloat,
              name, ": sums must be (N, 2) in float32");
  TORCH_CHECK(grad.numel() == (reduction == NONE ? rows : 1) && grad.scalar_type() == at::kFloat,
              name, ": grad must be that of the loss, in float32");
  const auto given = grad.contiguous();
  auto gradient = at::empty_like(x, x.options().dtype(in_narrow ? at::kBFloat16 : at::kFloat));
  const float* scales = given.const_data_ptr<float>();
  float mean = 0;
  if (reduction == MEAN) mean = *scales / float(count), scales = &mean;
  const auto run = [&](auto number, auto made) {
    gradients<decltype(number), decltype(made)>(x, target.const_data_ptr<int64_t>(), ignored,
                                                static_cast<const Sums*>(sums.const_data_ptr()), scales,
                                                reduction == NONE, gradient);
  };
  if (x.scalar_type() == at::kFloat) in_narrow ? run(0.f, Bits()) : run(0.f, 0.f);
  else in_narrow ? run(Bits(), Bits()) : run(Bits(), 0.f);
  return gradient;
}

TORCH_LIBRARY_FRAGMENT(lamella, m) {
  m.def("cross_entropy(Tensor x, Tensor target, int reduction, int ignored) "
        "-> (Tensor, Tensor, Tensor)");
  m.def("cross_entropy_backward(Tensor grad, Tensor x, Tensor target, Tensor sums, int reduction, "
        "int ignored, bool in_narrow) -> Tensor");
}
TORCH_LIBRARY_IMPL(lamella, CPU, m) {
  m.impl("cross_entropy", cross_entropy);
  m.impl("cross_entropy_backward", cross_entropy_backward);
}

PyModuleDef MODULE = {PyModuleDef_HEAD_INIT, "lamella_cross_entropy", nullptr, -1};

}  // namespace

PyMODINIT_FUNC PyInit_lamella_cross_entropy() { return PyModule_Create(&MODULE); }
