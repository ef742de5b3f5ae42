// Attention of a few queries to many keys, at the speed of reading keys and values.
//
// A language model that writes a token has one query for each head. PyTorch's kernel, which is made
// of products of blocks, takes several times as long in bfloat16. Here each key and each value is
// read once; scores, their softmax and the sums are in float32, and only the result is rounded.

#include <ATen/Parallel.h>
#include <ATen/ops/empty_like.h>
#include <Python.h>
#include <torch/library.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "numbers.h"
#include "tensors.h"

namespace {

constexpr int LANES = 16;
constexpr int64_t GRAIN = 16384;  // the fewest numbers of keys that a thread reads
constexpr float LEAST = -std::numeric_limits<float>::infinity();
using Lane = std::vector<float>;

// The inner product of two rows of `width` numbers.
template <typename T>
inline float product(const float* a, const T* b, int64_t width) {
  float sums[LANES] = {};
  int64_t i = 0;
  for (; i + LANES <= width; i += LANES)
#pragma omp simd
    for (int lane = 0; lane < LANES; ++lane) sums[lane] += a[i + lane] * wide(b[i + lane]);
  for (int half = LANES / 2; half; half /= 2)
#pragma omp simd
    for (int lane = 0; lane < half; ++lane) sums[lane] += sums[lane + half];
  float total = sums[0];
  for (; i < width; ++i) total += a[i] * wide(b[i]);
  return total;
}

// Scores become weights, times the sum that is returned; all are 0 if every score is -infinity.
inline float weights_of(float* scores, int64_t keys) {
  float most = LEAST, total = 0;
#pragma omp simd reduction(max : most)
  for (int64_t k = 0; k < keys; ++k) most = scores[k] > most ? scores[k] : most;
  const float least = most == LEAST ? 0.f : most;
#pragma omp simd reduction(+ : total)
  for (int64_t k = 0; k < keys; ++k) {
    scores[k] = exponential(scores[k] - least);
    total += scores[k];
  }
  return total;
}

struct Mask {
  const at::Tensor* of;  // (B, heads, queries, keys), whichever are 1 expanded

  template <typename T>
  void add_row(int64_t place, int64_t step, float* scores, int64_t keys) const {
    const T* from = static_cast<const T*>(of->const_data_ptr()) + place;
    if (step == 1)
#pragma omp simd
      for (int64_t k = 0; k < keys; ++k) scores[k] += wide(from[k]);
    else
      for (int64_t k = 0; k < keys; ++k) scores[k] += wide(from[k * step]);
  }

  void add(int64_t b, int64_t h, int64_t q, float* scores, int64_t keys) const {
    if (!of) return;
    const auto s = of->strides();
    const int64_t place = b * s[0] + h * s[1] + q * s[2];
    if (is_narrow(*of))
      add_row<Bits>(place, s[3], scores, keys);
    else
      add_row<float>(place, s[3], scores, keys);
  }
};

template <typename T>
void attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const Mask& mask,
            float scale, at::Tensor& out) {
  const int64_t heads = q.size(1), queries = q.size(2), width = q.size(3), keys = k.size(2);
  const auto* key_from = static_cast<const T*>(k.const_data_ptr());
  const auto* value_from = static_cast<const T*>(v.const_data_ptr());
  const auto* query_from = static_cast<const T*>(q.const_data_ptr());
  auto* to = static_cast<T*>(out.mutable_data_ptr());
  const int64_t grain = std::max<int64_t>(1, GRAIN / std::max<int64_t>(1, keys * width));
  at::parallel_for(0, q.size(0) * heads, grain, [&](int64_t begin, int64_t end) {
    Lane wanted(queries * width), scores(queries * keys), sums(queries * width), totals(queries);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t b = i / heads, h = i % heads;
      for (int64_t r = 0; r < queries; ++r)
        for (int64_t d = 0; d < width; ++d)
          wanted[r * width + d] = scale * wide(query_from[b * q.stride(0) + h * q.stride(1) +
                                                          r * q.stride(2) + d * q.stride(3)]);
      const T* line = key_from + b * k.stride(0) + h * k.stride(1);
      for (int64_t n = 0; n < keys; ++n, line += k.stride(2))
        for (int64_t r = 0; r < queries; ++r)
          scores[r * keys + n] = product(wanted.data() + r * width, line, width);
      for (int64_t r = 0; r < queries; ++r) {
        float* own = scores.data() + r * keys;
        mask.add(b, h, r, own, keys);
        totals[r] = weights_of(own, keys);
      }
      std::fill(sums.begin(), sums.end(), 0.f);
      const T* value = value_from + b * v.stride(0) + h * v.stride(1);
      for (int64_t n = 0; n < keys; ++n, value += v.stride(2))
        for (int64_t r = 0; r < queries; ++r) {
          const float by = scores[r * keys + n];
          float* sum = sums.data() + r * width;
#pragma omp simd
          for (int64_t d = 0; d < width; ++d) sum[d] += by * wide(value[d]);
        }
      for (int64_t r = 0; r < queries; ++r) {
        const float share = totals[r] == 0.f ? 0.f : 1.f / totals[r];
        T* result = to + b * out.stride(0) + h * out.stride(1) + r * out.stride(2);
        for (int64_t d = 0; d < width; ++d) result[d * out.stride(3)] = narrow<T>(sums[r * width + d] * share);
      }
    }
  });
}

// (B, heads, queries, width), in memory as the queries.
at::Tensor few_queries(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                       const Given& mask, double scale) {
  TORCH_CHECK(q.dim() == 4 && k.dim() == 4 && k.sizes() == v.sizes() && k.size(0) == q.size(0) &&
                  k.size(1) == q.size(1) && k.size(3) == q.size(3) && k.stride(3) == 1 &&
                  v.stride(3) == 1 && q.is_cpu() && k.is_cpu() && v.is_cpu() &&
                  q.scalar_type() == k.scalar_type() && k.scalar_type() == v.scalar_type() &&
                  (is_narrow(q) || q.scalar_type() == at::kFloat),
              "few_queries: q, k and v must be (B, heads, length, width) in float32 or bfloat16");
  TORCH_CHECK(!mask || (mask->is_cpu() && (is_narrow(*mask) || mask->scalar_type() == at::kFloat)),
              "few_queries: mask must be float32 or bfloat16");
  auto out = at::empty_like(q);
  at::Tensor every;
  if (mask) every = mask->expand({q.size(0), q.size(1), q.size(2), k.size(2)});
  const Mask by{mask ? &every : nullptr};
  if (is_narrow(q))
    attend<Bits>(q, k, v, by, float(scale), out);
  else
    attend<float>(q, k, v, by, float(scale), out);
  return out;
}

TORCH_LIBRARY_FRAGMENT(lamella, m) {
  m.def("few_queries_attention(Tensor q, Tensor k, Tensor v, Tensor? mask, float scale) -> Tensor");
}
TORCH_LIBRARY_IMPL(lamella, CPU, m) { m.impl("few_queries_attention", few_queries); }

PyModuleDef MODULE = {PyModuleDef_HEAD_INIT, "lamella_few_queries", nullptr, -1};

}  // namespace

PyMODINIT_FUNC PyInit_lamella_few_queries() { return PyModule_Create(&MODULE); }
