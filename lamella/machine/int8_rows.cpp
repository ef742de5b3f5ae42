// Products of few rows with the transpose of a matrix of int8, x W^T + bias, where each group of
// numbers of a row of W has a scale of its own. W is read once, as it is, and becomes floats in the
// registers; what is multiplied with a group is added up before it is scaled.

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <Python.h>
#include <torch/library.h>

#ifdef __AVX512F__
#include <immintrin.h>
#endif

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <vector>

#include "numbers.h"

namespace {

constexpr int LANES = 16;
constexpr int64_t STEP = 2 * LANES;     // numbers of a group are a multiple of this
constexpr int64_t AHEAD = 1024;         // bytes from what is read to what is fetched
constexpr int64_t GRAIN = 32768;        // the fewest multiplications of a thread
typedef float Floats __attribute__((vector_size(4 * LANES)));

// Numbers of W. Compilers make single steps of this conversion.
inline Floats floats(const int8_t* from) {
#ifdef __AVX512F__
  const auto bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  return std::bit_cast<Floats>(_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes)));
#else
  Floats out;
  for (int i = 0; i < LANES; ++i) out[i] = float(from[i]);
  return out;
#endif
}

// The products of ROWS rows of x with a row of W.
template <int ROWS>
inline void dots(const float* x, int64_t width, const int8_t* w, const float* scales,
                 int64_t group, float* out) {
  Floats total[ROWS] = {};
  for (int64_t first = 0; first < width; first += group) {
    Floats part[ROWS][2] = {};
    for (int64_t i = first; i < first + group; i += STEP) {
      __builtin_prefetch(w + i + AHEAD);
#pragma GCC unroll 2
      for (int u = 0; u < 2; ++u) {
        const Floats line = floats(w + i + u * LANES);
#pragma GCC unroll 4
        for (int r = 0; r < ROWS; ++r)
          part[r][u] += read<Floats>(x + r * width + i + u * LANES) * line;
      }
    }
    const float scale = *scales++;
#pragma GCC unroll 4
    for (int r = 0; r < ROWS; ++r) total[r] += (part[r][0] + part[r][1]) * scale;
  }
  for (int r = 0; r < ROWS; ++r) {
    out[r] = 0;
    for (int lane = 0; lane < LANES; ++lane) out[r] += total[r][lane];
  }
}

template <typename T>
void run(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& scales,
         const std::optional<at::Tensor>& bias, at::Tensor& y) {
  const int64_t rows = x.size(0), width = x.size(1), n = weight.size(0), groups = scales.size(1);
  std::vector<float> wide_rows(rows * width);
  const T* from = static_cast<const T*>(x.const_data_ptr());
  for (int64_t i = 0; i < rows * width; ++i) wide_rows[i] = wide(from[i]);
  const int8_t* w = weight.const_data_ptr<int8_t>();
  const float* factors = scales.const_data_ptr<float>();
  const T* added = bias ? static_cast<const T*>(bias->const_data_ptr()) : nullptr;
  T* to = static_cast<T*>(y.mutable_data_ptr());
  const int64_t grain = std::max<int64_t>(1, GRAIN / (rows * width));
  at::parallel_for(0, n, grain, [&](int64_t j, int64_t end) {
    for (; j < end; ++j) {
      float out[4];
      for (int64_t r = 0; r < rows;) {
        const int64_t many = rows - r >= 4 ? 4 : rows - r >= 2 ? 2 : 1;
        const auto part = [&](auto count) {
          dots<decltype(count)::value>(wide_rows.data() + r * width, width, w + j * width,
                                       factors + j * groups, width / groups, out);
        };
        if (many == 4) part(std::integral_constant<int, 4>());
        else if (many == 2) part(std::integral_constant<int, 2>());
        else part(std::integral_constant<int, 1>());
        for (int64_t k = 0; k < many; ++k)
          to[(r + k) * n + j] = narrow<T>(out[k] + (added ? wide(added[j]) : 0.f));
        r += many;
      }
    }
  });
}

at::Tensor int8_rows(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& scales,
                     const std::optional<at::Tensor>& bias) {
  const auto type = x.scalar_type();
  TORCH_CHECK(x.dim() == 2 && x.is_contiguous() && x.numel() > 0 && x.is_cpu() &&
                  (type == at::kFloat || type == at::kBFloat16),
              "int8_rows: x must be (rows, K) in rows, in float32 or bfloat16");
  TORCH_CHECK(weight.dim() == 2 && weight.size(1) == x.size(1) && weight.is_contiguous() &&
                  weight.scalar_type() == at::kChar,
              "int8_rows: weight must be (N, K) in rows, in int8");
  TORCH_CHECK(scales.dim() == 2 && scales.size(0) == weight.size(0) && scales.is_contiguous() &&
                  scales.scalar_type() == at::kFloat && scales.size(1) > 0 &&
                  x.size(1) % (scales.size(1) * STEP) == 0,
              "int8_rows: scales must be (N, groups) in float32, of groups of a multiple of ", STEP);
  TORCH_CHECK(!bias || (bias->dim() == 1 && bias->size(0) == weight.size(0) &&
                        bias->is_contiguous() && bias->scalar_type() == type),
              "int8_rows: bias must be (N,) of the type of x");
  auto y = at::empty({x.size(0), weight.size(0)}, x.options());
  type == at::kFloat ? run<float>(x, weight, scales, bias, y)
                     : run<Bits>(x, weight, scales, bias, y);
  return y;
}

TORCH_LIBRARY_FRAGMENT(lamella, m) {
  m.def("int8_rows(Tensor x, Tensor weight, Tensor scales, Tensor? bias) -> Tensor");
}
TORCH_LIBRARY_IMPL(lamella, CPU, m) { m.impl("int8_rows", int8_rows); }

PyModuleDef MODULE = {PyModuleDef_HEAD_INIT, "lamella_int8_rows", nullptr, -1};

}  // namespace

PyMODINIT_FUNC PyInit_lamella_int8_rows() { return PyModule_Create(&MODULE); }
