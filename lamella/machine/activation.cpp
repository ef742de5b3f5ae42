// Functions of one number of bfloat16, and their gradients, by tables: there are only 65,536 such
// numbers, and what a network computes with lies in few thousand of them, which the caches hold.
//
// A table is made once, by PyTorch's kernel: so the results are its own. A gradient is the product
// with the derivative, which a table has in float32, rounded once.

#include <ATen/Parallel.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/gelu_backward.h>
#include <ATen/ops/mish.h>
#include <ATen/ops/mish_backward.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/sigmoid_backward.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/silu_backward.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/tanh_backward.h>
#include <Python.h>
#include <torch/library.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "numbers.h"

namespace {

constexpr int64_t ALL = 1 << 16;    // numbers of bfloat16
constexpr int64_t SOME = 64;        // rows that are added up in float32
constexpr int64_t WORTH = 1 << 14;  // numbers that are worth a thread
using Floats = std::vector<float>;
using Doubles = std::vector<double>;

struct Tables {
  std::vector<Bits> values;
  Floats derivatives;  // by x; of sigmoid and tanh, given their results
};

at::Tensor value_of(const std::string& name, const std::string& setting, const at::Tensor& x) {
  if (name == "gelu") return at::gelu(x, setting);
  if (name == "silu") return at::silu(x);
  if (name == "mish") return at::mish(x);
  if (name == "sigmoid") return at::sigmoid(x);
  TORCH_CHECK(name == "tanh", "activation: name must be gelu, silu, mish, sigmoid or tanh");
  return at::tanh(x);
}

at::Tensor derivative_of(const std::string& name, const std::string& setting,
                         const at::Tensor& x) {
  const auto one = at::ones_like(x);
  return name == "gelu"      ? at::gelu_backward(one, x, setting)
         : name == "silu"    ? at::silu_backward(one, x)
         : name == "mish"    ? at::mish_backward(one, x)
         : name == "sigmoid" ? at::sigmoid_backward(one, x)
                             : at::tanh_backward(one, x);
}

const Tables& tables_of(const std::string& name, const std::string& setting) {
  static std::mutex alone;
  static std::map<std::string, Tables> known;
  const std::lock_guard<std::mutex> lock(alone);
  const auto found = known.find(name + " " + setting);
  if (found != known.end()) return found->second;
  auto x = at::empty({ALL}, at::kBFloat16);
  for (int64_t i = 0; i < ALL; ++i) static_cast<Bits*>(x.mutable_data_ptr())[i] = Bits(i);
  const auto values = value_of(name, setting, x);
  const auto derivatives = derivative_of(name, setting, x.to(at::kFloat));
  const auto* bits = static_cast<const Bits*>(values.const_data_ptr());
  const auto* floats = derivatives.const_data_ptr<float>();
  return known[name + " " + setting] = {{bits, bits + ALL}, {floats, floats + ALL}};
}

void check(const char* name, const at::Tensor& x, const at::Tensor& like) {
  TORCH_CHECK(x.scalar_type() == at::kBFloat16 && x.is_cpu() && x.is_contiguous() &&
                  x.sizes() == like.sizes(),
              name, ": all must be bfloat16, contiguous, of one shape");
}

at::Tensor activation(const at::Tensor& x, const std::string& name, const std::string& setting) {
  check("activation", x, x);
  const Bits* values = tables_of(name, setting).values.data();
  auto out = at::empty_like(x);
  const auto* from = static_cast<const Bits*>(x.const_data_ptr());
  auto* to = static_cast<Bits*>(out.mutable_data_ptr());
  at::parallel_for(0, x.numel(), WORTH, [&](int64_t i, int64_t end) {
    for (; i < end; ++i) to[i] = values[from[i]];
  });
  return out;
}

// The gradient, and if `in_sums` the sums of its columns, of as many as the last dimension has.
std::tuple<at::Tensor, at::Tensor> activation_backward(const at::Tensor& grad, const at::Tensor& x,
                                                       const std::string& name,
                                                       const std::string& setting, bool in_sums) {
  check("activation_backward", x, x), check("activation_backward", grad, x);
  const float* derivatives = tables_of(name, setting).derivatives.data();
  const int64_t width = x.dim() ? x.size(-1) : 1, rows = width ? x.numel() / width : 0;
  auto out = at::empty_like(x);
  auto sums = at::empty({in_sums ? width : 0}, x.options().dtype(at::kFloat));
  const auto* from = static_cast<const Bits*>(x.const_data_ptr());
  const auto* by = static_cast<const Bits*>(grad.const_data_ptr());
  auto* to = static_cast<Bits*>(out.mutable_data_ptr());
  const int64_t parts = std::clamp<int64_t>(x.numel() / WORTH, 1, at::get_num_threads());
  std::vector<Doubles> found(parts, Doubles(in_sums ? width : 0));
  at::parallel_for(0, parts, 1, [&](int64_t begin, int64_t last) {
    Floats slopes(width), few(in_sums ? width : 0);
    float *slope = slopes.data(), *column = few.data();
    for (int64_t part = begin; part < last; ++part) {
      const int64_t end = rows * (part + 1) / parts;
      for (int64_t first = rows * part / parts; first < end; first += SOME) {
        std::fill(few.begin(), few.end(), 0.f);
        for (int64_t r = first; r < std::min(end, first + SOME); ++r) {
          const Bits *place = from + r * width, *g = by + r * width;
          Bits* line = to + r * width;
          for (int64_t c = 0; c < width; ++c) slope[c] = derivatives[place[c]];
#pragma omp simd
          for (int64_t c = 0; c < width; ++c) line[c] = Bits(rounded(wide(g[c]) * slope[c]));
          if (in_sums)
#pragma omp simd
            for (int64_t c = 0; c < width; ++c) column[c] += wide(line[c]);
        }
        if (in_sums)
          for (int64_t c = 0; c < width; ++c) found[part][c] += few[c];
      }
    }
  });
  for (int64_t c = 0; c < sums.numel(); ++c) {
    double total = 0;
    for (const Doubles& part : found) total += part[c];
    sums.mutable_data_ptr<float>()[c] = float(total);
  }
  return {out, sums};
}

TORCH_LIBRARY_FRAGMENT(lamella, m) {
  m.def("activation(Tensor x, str name, str setting) -> Tensor");
  m.def("activation_backward(Tensor grad, Tensor x, str name, str setting, bool in_sums) "
        "-> (Tensor, Tensor)");
}
TORCH_LIBRARY_IMPL(lamella, CPU, m) {
  m.impl("activation", activation);
  m.impl("activation_backward", activation_backward);
}

PyModuleDef MODULE = {PyModuleDef_HEAD_INIT, "lamella_activation", nullptr, -1};

}  // namespace

PyMODINIT_FUNC PyInit_lamella_activation() { return PyModule_Create(&MODULE); }
