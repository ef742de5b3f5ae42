// Layer normalization with the sum and the casts around it, and its gradient with theirs: each row
// is read, used and written while it is in the nearest cache, where one kernel after the other
// would write and read every intermediate value in float32.
//
// All is computed in float32. What is summed over rows (the gradients by weight and bias, and the
// columns of the result) is added up in float32 over some rows, and in float64 over all.

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <Python.h>
#include <torch/library.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "numbers.h"
#include "tensors.h"

namespace {

constexpr int64_t LANES = 64;       // sums at a time
constexpr int64_t SOME = 64;        // rows that are added up in float32
constexpr int64_t WORTH = 1 << 14;  // numbers that are worth a thread
using Doubles = std::vector<double>;
using Floats = std::vector<float>;
using Five = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor>;

// ---- checks -------------------------------------------------------------------------------------

void check(const char* name, const char* what, const Given& x, const at::Tensor& like) {
  TORCH_CHECK(!x || (x->sizes() == like.sizes() && x->is_contiguous() && x->is_cpu() &&
                     (is_narrow(*x) || x->scalar_type() == at::kFloat)),
              name, ": ", what, " must be float32 or bfloat16, contiguous, with the shape of x");
}

void check_floats(const char* name, const char* what, const Given& x, int64_t count) {
  TORCH_CHECK(!x || (x->numel() == count && x->is_contiguous() && x->is_cpu() &&
                     x->scalar_type() == at::kFloat),
              name, ": ", what, " must have ", count, " numbers of float32");
}

// How many numbers are normalized together: those along the last `dims` dimensions.
int64_t width_of(const char* name, const at::Tensor& x, int64_t dims) {
  TORCH_CHECK(dims > 0 && dims <= x.dim() && x.numel() > 0, name,
              ": dims must be 1 to the number of x's dimensions, and x not empty");
  return c10::multiply_integers(x.sizes().slice(x.dim() - dims));
}

at::Tensor made(const at::Tensor& x, bool wanted, at::ScalarType type) {
  const auto options = x.options().dtype(type);
  return wanted ? at::empty_like(x, options) : at::empty({0}, options);
}

at::Tensor numbers(const at::Tensor& x, at::IntArrayRef sizes) {
  return at::empty(sizes, x.options().dtype(at::kFloat));
}

inline const float* floats_of(const Given& x) { return x ? x->const_data_ptr<float>() : nullptr; }

// ---- rows ---------------------------------------------------------------------------------------

// The sum of what `one(c)` gives for each column, in many sums at a time: one would wait for itself.
template <typename F>
inline float sum_of(int64_t width, F one) {
  float sums[LANES] = {};
  int64_t c = 0;
  for (; c + LANES <= width; c += LANES)
#pragma omp simd
    for (int64_t k = 0; k < LANES; ++k) sums[k] += one(c + k);
  float total = 0;
#pragma omp simd reduction(+ : total)
  for (int64_t k = 0; k < LANES; ++k) total += sums[k];
  for (; c < width; ++c) total += one(c);
  return total;
}

// Two sums, of what `one(c, sum, other)` adds to each.
template <typename F>
inline std::pair<float, float> sums_of(int64_t width, F one) {
  float sums[LANES] = {}, others[LANES] = {};
  int64_t c = 0;
  for (; c + LANES <= width; c += LANES)
#pragma omp simd
    for (int64_t k = 0; k < LANES; ++k) one(c + k, sums[k], others[k]);
  float total = 0, other = 0;
#pragma omp simd reduction(+ : total, other)
  for (int64_t k = 0; k < LANES; ++k) total += sums[k], other += others[k];
  for (; c < width; ++c) one(c, total, other);
  return {total, other};
}

// Calls `function` with pointers to the numbers of each tensor, in their types; null if there is none.
template <typename F>
void by_type(F function) {
  function();
}

template <typename F, typename... Rest>
void by_type(F function, const Given& x, const Rest&... rest) {
  const void* at = x ? x->const_data_ptr() : nullptr;
  if (x && is_narrow(*x))
    by_type([&](auto... more) { function(static_cast<const Bits*>(at), more...); }, rest...);
  else
    by_type([&](auto... more) { function(static_cast<const float*>(at), more...); }, rest...);
}

template <typename T>
inline T* data_of(at::Tensor& x) {
  return x.numel() ? static_cast<T*>(x.mutable_data_ptr()) : nullptr;
}

// ---- the operators ------------------------------------------------------------------------------

// x + added if there is something added; its normalization in float32 and in bfloat16, whichever is
// wanted; means, and 1 / standard deviations.
Five layer_norm(const at::Tensor& x, const Given& added, const Given& weight, const Given& bias,
                int64_t dims, double eps, bool in_wide, bool in_narrow) {
  const char* name = "layer_norm";
  const int64_t width = width_of(name, x, dims), rows = x.numel() / width;
  check(name, "x", x, x), check(name, "added", added, x);
  check_floats(name, "weight", weight, width), check_floats(name, "bias", bias, width);
  auto total = made(x, added.has_value(), at::kFloat);
  auto y = made(x, in_wide, at::kFloat), halves = made(x, in_narrow, at::kBFloat16);
  auto each = x.sizes().vec();  // a number for each row
  std::fill(each.end() - dims, each.end(), 1);
  auto mean = numbers(x, each), inverse = numbers(x, each);
  const float *factors = floats_of(weight), *shifts = floats_of(bias);
  float *means = mean.mutable_data_ptr<float>(), *inverses = inverse.mutable_data_ptr<float>();
  float *sums = data_of<float>(total), *wides = data_of<float>(y);
  Bits* narrows = data_of<Bits>(halves);
  const auto of_rows = [&](auto from, auto more, int64_t r, int64_t end) {
    Floats room(width), ones(factors ? 0 : width, 1.f), zeros(shifts ? 0 : width, 0.f);
    const float *w = factors ? factors : ones.data(), *b = shifts ? shifts : zeros.data();
    for (; r < end; ++r) {
      const auto* row = from + r * width;
      float* v = sums ? sums + r * width : room.data();
      float sum;
      if (more) {
        const auto* other = more + r * width;
        sum = sum_of(width, [=](int64_t c) { return v[c] = wide(row[c]) + wide(other[c]); });
      } else {
        sum = sum_of(width, [=](int64_t c) { return v[c] = wide(row[c]); });
      }
      const float middle = sum / float(width);
      const float squares =
          sum_of(width, [=](int64_t c) { return (v[c] - middle) * (v[c] - middle); });
      const auto its = float(1 / std::sqrt(double(squares) / double(width) + eps));
      means[r] = middle, inverses[r] = its;
      const auto result = [=](int64_t c) { return (v[c] - middle) * its * w[c] + b[c]; };
      float* to = wides + r * width;
      Bits* half = narrows + r * width;
      if (wides)
#pragma omp simd
        for (int64_t c = 0; c < width; ++c) to[c] = result(c);
      if (narrows)
#pragma omp simd
        for (int64_t c = 0; c < width; ++c) half[c] = Bits(rounded(result(c)));
    }
  };
  by_type([&](auto from, auto more) {
    at::parallel_for(0, rows, std::max<int64_t>(1, WORTH / width),
                     [&](int64_t begin, int64_t end) { of_rows(from, more, begin, end); });
  }, x, added);
  return {total, y, halves, mean, inverse};
}

// The gradient by x, plus `other` if there is one, in float32 and in bfloat16, whichever is wanted;
// the gradients by weight and bias; and the sums of the columns of the first in bfloat16.
Five layer_norm_backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& mean,
                         const at::Tensor& inverse, const Given& weight, const Given& other,
                         int64_t dims, bool in_wide, bool in_narrow, bool in_sums) {
  const char* name = "layer_norm_backward";
  const int64_t width = width_of(name, x, dims), rows = x.numel() / width;
  check(name, "x", x, x), check(name, "grad", grad, x), check(name, "other", other, x);
  check_floats(name, "weight", weight, width);
  check_floats(name, "mean", mean, rows), check_floats(name, "inverse", inverse, rows);
  auto of_x = made(x, in_wide, at::kFloat), halves = made(x, in_narrow, at::kBFloat16);
  const auto last = x.sizes().slice(x.dim() - dims);
  auto of_weight = numbers(x, last), of_bias = numbers(x, last);
  auto sums = numbers(x, {in_sums ? width : 0});
  const float *factors = floats_of(weight), *means = mean.const_data_ptr<float>(),
              *inverses = inverse.const_data_ptr<float>();
  float* wides = data_of<float>(of_x);
  Bits* narrows = data_of<Bits>(halves);
  const int64_t parts = std::clamp<int64_t>(rows * width / WORTH, 1, at::get_num_threads());
  std::vector<Doubles> found(parts, Doubles(3 * width));
  const auto of_rows = [&](auto gradient, auto from, auto more, int64_t begin, int64_t end,
                           float* few, const float* w, float* out) {
    float *by_weight = few, *by_bias = few + width, *columns = by_bias + width;
    for (int64_t r = begin; r < end; ++r) {
      const auto *v = from + r * width, *g = gradient + r * width;
      const float middle = means[r], its = inverses[r];
      const auto [sum, product] = sums_of(width, [=](int64_t c, float& a, float& b) {
        const float unit = (wide(v[c]) - middle) * its, own = wide(g[c]);
        a += own * w[c], b += own * w[c] * unit;
        by_weight[c] += own * unit, by_bias[c] += own;
      });
      const float a = sum / float(width), b = product / float(width);
      float* to = wides ? wides + r * width : out;
      const auto own = [=](int64_t c) {
        return its * (wide(g[c]) * w[c] - a - (wide(v[c]) - middle) * its * b);
      };
      if (more) {
        const auto* add = more + r * width;
#pragma omp simd
        for (int64_t c = 0; c < width; ++c) to[c] = own(c) + wide(add[c]);
      } else {
#pragma omp simd
        for (int64_t c = 0; c < width; ++c) to[c] = own(c);
      }
      Bits* half = narrows + r * width;
      if (narrows)
#pragma omp simd
        for (int64_t c = 0; c < width; ++c) half[c] = Bits(rounded(to[c]));
      if (in_sums)
#pragma omp simd
        for (int64_t c = 0; c < width; ++c) columns[c] += wide(Bits(rounded(to[c])));
    }
  };
  by_type([&](auto gradient, auto from, auto more) {
    at::parallel_for(0, parts, 1, [&](int64_t begin, int64_t stop) {
      Floats room(width), few(3 * width), ones(factors ? 0 : width, 1.f);
      for (int64_t part = begin; part < stop; ++part) {
        const int64_t end = rows * (part + 1) / parts;
        for (int64_t first = rows * part / parts; first < end; first += SOME) {
          std::fill(few.begin(), few.end(), 0.f);
          of_rows(gradient, from, more, first, std::min(end, first + SOME), few.data(),
                  factors ? factors : ones.data(), room.data());
          for (int64_t c = 0; c < 3 * width; ++c) found[part][c] += few[c];
        }
      }
    });
  }, grad, x, other);
  for (int64_t c = 0; c < width; ++c) {
    double each[3] = {0, 0, 0};
    for (const Doubles& part : found)
      for (int64_t k = 0; k < 3; ++k) each[k] += part[k * width + c];
    of_weight.mutable_data_ptr<float>()[c] = float(each[0]);
    of_bias.mutable_data_ptr<float>()[c] = float(each[1]);
    if (in_sums) sums.mutable_data_ptr<float>()[c] = float(each[2]);
  }
  return {of_x, halves, of_weight, of_bias, sums};
}

TORCH_LIBRARY_FRAGMENT(lamella, m) {
  m.def("layer_norm(Tensor x, Tensor? added, Tensor? weight, Tensor? bias, int dims, float eps, "
        "bool in_wide, bool in_narrow) -> (Tensor, Tensor, Tensor, Tensor, Tensor)");
  m.def("layer_norm_backward(Tensor grad, Tensor x, Tensor mean, Tensor inverse, Tensor? weight, "
        "Tensor? other, int dims, bool in_wide, bool in_narrow, bool in_sums) "
        "-> (Tensor, Tensor, Tensor, Tensor, Tensor)");
}
TORCH_LIBRARY_IMPL(lamella, CPU, m) {
  m.impl("layer_norm", layer_norm);
  m.impl("layer_norm_backward", layer_norm_backward);
}

PyModuleDef MODULE = {PyModuleDef_HEAD_INIT, "lamella_layer_norm", nullptr, -1};

}  // namespace

PyMODINIT_FUNC PyInit_lamella_layer_norm() { return PyModule_Create(&MODULE); }
