// The gradient of attention in bfloat16, as five products of whole matrices.
//
// PyTorch's kernel computes it by products of small blocks, each of which calls a library: in
// bfloat16 they take several times as long as the arithmetic. Here the products are those of
// several heads at once. Weights of attention are computed again from the scores and the
// logarithms of sums that the forward pass has kept; scores and their gradients are in float32.

#include <ATen/Parallel.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/empty.h>
#include <Python.h>
#include <torch/library.h>

#include <bit>
#include <cmath>
#include <limits>

namespace {

constexpr int64_t AT_ONCE = 1 << 21;  // scores that are in memory at a time
using Bits = uint16_t;                // of a bfloat16

// exp of numbers up to about 88, to a few units in the last place. Loops of it become vectors.
inline float exponential(float x) {
  const float y = x < -87.f ? -87.f : x;  // NaN stays NaN
  const float magic = 12582912.f;         // 1.5 * 2^23: adding it rounds to a whole number
  const float shifted = y * 1.44269504f + magic, n = shifted - magic;
  const float r = (y - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.f;
  const int32_t power = (std::bit_cast<int32_t>(shifted) - std::bit_cast<int32_t>(magic)) << 23;
  const float found = std::bit_cast<float>(std::bit_cast<int32_t>(p) + power);
  return x < -87.f ? 0.f : x > 88.f ? std::numeric_limits<float>::infinity() : x != x ? x : found;
}

inline Bits rounded(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  const uint32_t up = bits + 0x7fffu + ((bits >> 16) & 1u);
  return Bits(x != x ? 0x7fc0u : up >> 16);
}

inline float wide(Bits x) { return std::bit_cast<float>(uint32_t(x) << 16); }

// Of rows of scores s and of gradients g by the weights: the weights, and the gradients by what the
// scores are scaled from.
void weights_and_gradients(const float* s, const float* g, const float* sums, const float* inner,
                           Bits* weights, Bits* gradients, int64_t rows, int64_t queries,
                           int64_t keys, bool is_causal, float scale) {
  at::parallel_for(0, rows, 16, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const int64_t seen = is_causal ? std::min(keys, r % queries + 1) : keys;
      const float sum = sums[r], own = inner[r];
      const float* from = s + r * keys;
      const float* by = g + r * keys;
      Bits* w = weights + r * keys;
      Bits* d = gradients + r * keys;
      for (int64_t j = 0; j < seen; ++j) {
        const float p = exponential(from[j] * scale - sum);
        w[j] = rounded(p);
        d[j] = rounded(p * (by[j] - own) * scale);
      }
      for (int64_t j = seen; j < keys; ++j) {  // not seen; what is no number stays none
        w[j] = 0;
        d[j] = rounded(0.f * (by[j] - own));
      }
    }
  });
}

// The product of each row of the gradient with that of the result.
at::Tensor inner_products(const at::Tensor& grad, const at::Tensor& out) {
  const int64_t rows = grad.size(0) * grad.size(1), width = grad.size(2);
  auto found = at::empty({rows}, grad.options().dtype(at::kFloat));
  const auto* a = static_cast<const Bits*>(grad.const_data_ptr());
  const auto* b = static_cast<const Bits*>(out.const_data_ptr());
  float* to = found.mutable_data_ptr<float>();
  at::parallel_for(0, rows, 256, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      float total = 0;
      for (int64_t j = 0; j < width; ++j) total += wide(a[r * width + j]) * wide(b[r * width + j]);
      to[r] = total;
    }
  });
  return found;
}

// (B, heads, length, width) as (B heads, length, width), row by row.
at::Tensor flat(const at::Tensor& x) {
  return x.contiguous().view({x.size(0) * x.size(1), x.size(2), x.size(3)});
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> attention_backward(
    const at::Tensor& grad_out, const at::Tensor& query, const at::Tensor& key,
    const at::Tensor& value, const at::Tensor& out, const at::Tensor& logsumexp, bool is_causal,
    double scale) {
  for (const auto* each : {&grad_out, &query, &key, &value, &out})
    TORCH_CHECK(each->dim() == 4 && each->scalar_type() == at::kBFloat16 &&
                    each->size(0) == query.size(0) && each->size(1) == query.size(1),
                "attention_backward: all must be bfloat16 (B, heads, length, width)");
  const int64_t heads = query.size(0) * query.size(1), queries = query.size(2),
                keys = key.size(2), width = query.size(3);
  TORCH_CHECK(key.size(3) == width && value.sizes() == key.sizes() &&
                  grad_out.sizes() == query.sizes() && out.sizes() == query.sizes() &&
                  logsumexp.numel() == heads * queries && logsumexp.scalar_type() == at::kFloat,
              "attention_backward: shapes don't fit");
  const auto q = flat(query), k = flat(key), v = flat(value), g = flat(grad_out);
  const auto inner = inner_products(g, flat(out));
  const auto sums = logsumexp.contiguous();
  auto of_q = at::empty(q.sizes(), q.options()), of_k = at::empty(k.sizes(), k.options()),
       of_v = at::empty(v.sizes(), v.options());
  const int64_t some = std::max<int64_t>(1, AT_ONCE / std::max<int64_t>(1, queries * keys));
  for (int64_t h = 0; h < heads; h += some) {
    const int64_t n = std::min(some, heads - h);
    const auto part = [&](const at::Tensor& x) { return x.narrow(0, h, n); };
    const auto scores = at::bmm(part(q).to(at::kFloat), part(k).to(at::kFloat).transpose(1, 2));
    const auto by = at::bmm(part(g).to(at::kFloat), part(v).to(at::kFloat).transpose(1, 2));
    auto weights = at::empty({n, queries, keys}, q.options());
    auto gradients = at::empty({n, queries, keys}, q.options());
    weights_and_gradients(scores.const_data_ptr<float>(), by.const_data_ptr<float>(),
                          sums.const_data_ptr<float>() + h * queries,
                          inner.const_data_ptr<float>() + h * queries,
                          static_cast<Bits*>(weights.mutable_data_ptr()),
                          static_cast<Bits*>(gradients.mutable_data_ptr()), n * queries, queries,
                          keys, is_causal, float(scale));
    auto a = part(of_q), b = part(of_k), c = part(of_v);
    at::bmm_out(a, gradients, part(k));
    at::bmm_out(b, gradients.transpose(1, 2), part(q));
    at::bmm_out(c, weights.transpose(1, 2), part(g));
  }
  // in memory as (B, length, heads, width), as PyTorch's kernel gives them
  const auto given = [](const at::Tensor& found, const at::Tensor& like) {
    return found.view(like.sizes()).transpose(1, 2).contiguous().transpose(1, 2);
  };
  return {given(of_q, query), given(of_k, key), given(of_v, value)};
}

TORCH_LIBRARY_FRAGMENT(lamella, m) {
  m.def("attention_backward(Tensor grad_out, Tensor query, Tensor key, Tensor value, Tensor out, "
        "Tensor logsumexp, bool is_causal, float scale) -> (Tensor, Tensor, Tensor)");
}
TORCH_LIBRARY_IMPL(lamella, CPU, m) { m.impl("attention_backward", attention_backward); }

PyModuleDef MODULE = {PyModuleDef_HEAD_INIT, "lamella_attention", nullptr, -1};

}  // namespace

PyMODINIT_FUNC PyInit_lamella_attention() { return PyModule_Create(&MODULE); }
