// Products of few rows with the transpose of a matrix, x W^T + bias, at the speed of reading W.
//
// A language model that writes a token multiplies each of its weights with one row, or with a few.
// That takes as long as the weights take from memory, if nothing else takes longer; the libraries'
// kernels, which cut matrices into blocks that are used again, take up to twice as long. Here each
// row of W is read once, from its beginning to its end, and multiplied with all rows of x, which
// stay in the caches. With one or two rows of x a thread reads its part of W at four places at once,
// each of which goes on in memory: processors fetch ahead for each place, but not over the end of a
// page. With more rows the products take longer than that.

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <Python.h>
#include <c10/util/BFloat16.h>
#include <torch/library.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "numbers.h"

namespace {

constexpr int LANES = 16, AT_ONCE = 8;  // rows of x that are multiplied at once
constexpr int64_t GRAIN = 32768;         // the fewest multiplications of a thread
typedef float Floats __attribute__((vector_size(4 * LANES)));
typedef uint32_t Words __attribute__((vector_size(4 * LANES)));

// What 64 bytes of a row of W hold: PARTS vectors of LANES numbers. In those of bfloat16 the first
// vector has the numbers of even places, the second one those of odd places.
template <typename T>
struct Line;

template <>
struct Line<float> {
  static constexpr int PARTS = 1;
  static void read_into(const float* from, Floats* out) { out[0] = read<Floats>(from); }
};

template <>
struct Line<at::BFloat16> {
  static constexpr int PARTS = 2;
  static void read_into(const at::BFloat16* from, Floats* out) {
    const auto words = read<Words>(from);
    out[0] = (Floats)(words << 16);
    out[1] = (Floats)(words & 0xFFFF0000u);
  }
};

// The rows of x as floats, in the order in which lines of W have their numbers.
template <typename T>
std::vector<float> arranged(const T* x, int64_t rows, int64_t width) {
  constexpr int PARTS = Line<T>::PARTS, SIZE = PARTS * LANES;
  std::vector<float> out(rows * width);
  for (int64_t r = 0; r < rows; ++r) {
    const T* from = x + r * width;
    float* to = out.data() + r * width;
    int64_t i = 0;
    for (; i + SIZE <= width; i += SIZE)
      for (int lane = 0; lane < LANES; ++lane)
        for (int p = 0; p < PARTS; ++p) to[i + p * LANES + lane] = float(from[i + lane * PARTS + p]);
    for (; i < width; ++i) to[i] = float(from[i]);
  }
  return out;
}

// The products of ROWS rows of x with COLS rows of W, which are `apart`: out[r * COLS + c]. With
// more than two rows of x, what comes `ahead` is fetched.
template <typename T, int ROWS, int COLS>
inline void dots(const float* x, int64_t width, const T* w, int64_t apart, int64_t ahead,
                 float* out) {
  constexpr int PARTS = Line<T>::PARTS, SIZE = PARTS * LANES;
  constexpr int UNROLL = std::max(1, 4 / (ROWS * COLS));  // sums that don't wait for others
  Floats sum[UNROLL][ROWS][COLS] = {};
  int64_t i = 0;
  const auto add = [&](int u, int64_t at) __attribute__((always_inline)) {
    Floats line[COLS][PARTS];
#pragma GCC unroll 8
    for (int c = 0; c < COLS; ++c) {
      Line<T>::read_into(w + c * apart + at, line[c]);
      if (ROWS > 2) __builtin_prefetch(w + c * apart + at + ahead);
    }
#pragma GCC unroll 8
    for (int p = 0; p < PARTS; ++p)
#pragma GCC unroll 8
      for (int r = 0; r < ROWS; ++r) {
        const auto row = read<Floats>(x + r * width + at + p * LANES);
#pragma GCC unroll 8
        for (int c = 0; c < COLS; ++c) sum[u][r][c] += row * line[c][p];
      }
  };
  for (; i + UNROLL * SIZE <= width; i += UNROLL * SIZE)
#pragma GCC unroll 8
    for (int u = 0; u < UNROLL; ++u) add(u, i + u * SIZE);
  for (; i + SIZE <= width; i += SIZE) add(0, i);
#pragma GCC unroll 8
  for (int r = 0; r < ROWS; ++r)
#pragma GCC unroll 8
    for (int c = 0; c < COLS; ++c) {
      Floats all = {};
#pragma GCC unroll 8
      for (int u = 0; u < UNROLL; ++u) all += sum[u][r][c];
      float total = 0;
      for (int lane = 0; lane < LANES; ++lane) total += all[lane];
      for (int64_t j = i; j < width; ++j) total += x[r * width + j] * float(w[c * apart + j]);
      out[r * COLS + c] = total;
    }
}

template <typename T, int ROWS>
void product(const float* x, const T* w, const T* bias, T* y, int64_t n, int64_t width,
             int64_t stride) {
  constexpr int COLS = ROWS <= 4 ? 4 : 3;  // as many as registers hold
  const int64_t grain = std::max<int64_t>(1, GRAIN / std::max<int64_t>(width, 1));
  at::parallel_for(0, n, grain, [&](int64_t begin, int64_t end) {
    const int64_t many = (end - begin) / COLS;
    const int64_t step = ROWS <= 2 ? 1 : COLS, apart = ROWS <= 2 ? many : 1;  // in rows of W
    float out[ROWS * COLS];
    const auto store = [&](int64_t j, int count) {
      for (int r = 0; r < ROWS; ++r)
        for (int c = 0; c < count; ++c) {
          const int64_t column = j + c * apart;
          y[r * n + column] = T(out[r * count + c] + (bias ? float(bias[column]) : 0.f));
        }
    };
    for (int64_t i = 0; i < many; ++i) {
      const int64_t j = begin + i * step;
      dots<T, ROWS, COLS>(x, width, w + j * stride, apart * stride, COLS * stride, out);
      store(j, COLS);
    }
    for (int64_t j = begin + many * COLS; j < end; ++j) {
      dots<T, ROWS, 1>(x, width, w + j * stride, 0, stride, out);
      store(j, 1);
    }
  });
}

template <typename T>
void run(const at::Tensor& x, const at::Tensor& weight, const std::optional<at::Tensor>& bias,
         at::Tensor& y) {
  const int64_t rows = x.size(0), width = x.size(1), n = weight.size(0);
  const auto from = arranged(x.const_data_ptr<T>(), rows, width);
  const T* w = weight.const_data_ptr<T>();
  const T* b = bias ? bias->const_data_ptr<T>() : nullptr;
  T* to = y.mutable_data_ptr<T>();
  const auto part = [&](int64_t r, auto many) {
    product<T, decltype(many)::value>(from.data() + r * width, w, b, to + r * n, n, width,
                                      weight.stride(0));
  };
  int64_t r = 0;
  for (; r + AT_ONCE <= rows; r += AT_ONCE) part(r, std::integral_constant<int, AT_ONCE>());
  if (rows - r >= 4) part(r, std::integral_constant<int, 4>()), r += 4;
  if (rows - r == 3) part(r, std::integral_constant<int, 3>());
  if (rows - r == 2) part(r, std::integral_constant<int, 2>());
  if (rows - r == 1) part(r, std::integral_constant<int, 1>());
}

at::Tensor few_rows(const at::Tensor& x, const at::Tensor& weight,
                    const std::optional<at::Tensor>& bias) {
  const auto type = x.scalar_type();
  TORCH_CHECK(x.dim() == 2 && weight.dim() == 2 && x.size(1) == weight.size(1) &&
                  x.is_contiguous() && (weight.stride(1) == 1 || weight.size(1) <= 1) &&
                  weight.scalar_type() == type && (type == at::kFloat || type == at::kBFloat16),
              "few_rows: x (rows, K) and weight (N, K) must be rows of one type in memory");
  TORCH_CHECK(!bias || (bias->dim() == 1 && bias->size(0) == weight.size(0) &&
                        bias->is_contiguous() && bias->scalar_type() == type),
              "few_rows: bias must be (N,) of the type of x");
  auto y = at::empty({x.size(0), weight.size(0)}, x.options());
  type == at::kFloat ? run<float>(x, weight, bias, y) : run<at::BFloat16>(x, weight, bias, y);
  return y;
}

TORCH_LIBRARY(lamella, m) { m.def("few_rows(Tensor x, Tensor weight, Tensor? bias) -> Tensor"); }
TORCH_LIBRARY_IMPL(lamella, CPU, m) { m.impl("few_rows", few_rows); }

PyModuleDef MODULE = {PyModuleDef_HEAD_INIT, "lamella_few_rows", nullptr, -1};

}  // namespace

PyMODINIT_FUNC PyInit_lamella_few_rows() { return PyModule_Create(&MODULE); }
