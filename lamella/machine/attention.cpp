// Attention in bfloat16 and its gradient, head by head, with all that a head needs in the caches.
//
// PyTorch's kernels compute them by products of small blocks, each of which calls a library; in
// bfloat16 they take several times as long as the arithmetic. Here one piece of code does all
// products. For the gradient, weights are computed again from the scores and the logarithms of
// sums that the forward pass has kept; scores, their gradients and all sums are in float32.
//
// Where a processor multiplies pairs of bfloat16 and adds both products at once, that is used. So
// the numbers along which a product sums lie in pairs: a word holds those of places 2i and 2i + 1.

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <Python.h>
#include <torch/library.h>

#ifdef __AVX512BF16__
#include <immintrin.h>
#endif

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace {

constexpr int LANES = 16, ACROSS = 2, DOWN = 8;  // a vector; vectors and rows of a tile of results
constexpr int64_t STEP = LANES * ACROSS;         // sizes are padded with zeros to multiples of this
typedef float Floats __attribute__((vector_size(4 * LANES)));
typedef uint32_t Words __attribute__((vector_size(4 * LANES)));
using Bits = uint16_t;  // of a bfloat16

inline int64_t padded(int64_t n) { return (n + STEP - 1) / STEP * STEP; }

inline float wide(Bits x) { return std::bit_cast<float>(uint32_t(x) << 16); }

inline uint32_t rounded(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  return x != x ? 0x7fc0u : (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
}

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

// sum + a0 b0 + a1 b1 of the pairs in a and b.
inline Floats plus_products(Floats sum, Words a, Words b) {
#ifdef __AVX512BF16__
  return std::bit_cast<Floats>(_mm512_dpbf16_ps(std::bit_cast<__m512>(sum),
                                                std::bit_cast<__m512bh>(a),
                                                std::bit_cast<__m512bh>(b)));
#else
  sum += (Floats)(a << 16) * (Floats)(b << 16);
  return sum + (Floats)(a & 0xFFFF0000u) * (Floats)(b & 0xFFFF0000u);
#endif
}

// A matrix of pairs: that of row m and of places 2k and 2k + 1 is at m * down + k * across.
struct Rows {
  const uint32_t* at;
  int64_t down, across;
};

// c = a b, or c += a b, with b in rows of pairs, `width` words each. Columns are multiples of STEP,
// rows of DOWN.
void product(Rows a, const uint32_t* b, int64_t width, float* c, int64_t rows, int64_t columns,
             int64_t pairs, bool adds) {
  for (int64_t n = 0; n < columns; n += STEP)
    for (int64_t m = 0; m < rows; m += DOWN) {
      Floats sum[DOWN][ACROSS];
      float* to = c + m * width + n;
#pragma GCC unroll 8
      for (int r = 0; r < DOWN; ++r)
#pragma GCC unroll 2
        for (int v = 0; v < ACROSS; ++v) {
          if (adds) std::memcpy(&sum[r][v], to + r * width + v * LANES, sizeof(Floats));
          else sum[r][v] = Floats{};
        }
      for (int64_t k = 0; k < pairs; ++k) {
        Words line[ACROSS];
        std::memcpy(line, b + k * width + n, sizeof line);
        const uint32_t* from = a.at + m * a.down + k * a.across;
#pragma GCC unroll 8
        for (int r = 0; r < DOWN; ++r) {
          const Words same = from[r * a.down] - Words{};
#pragma GCC unroll 2
          for (int v = 0; v < ACROSS; ++v) sum[r][v] = plus_products(sum[r][v], same, line[v]);
        }
      }
#pragma GCC unroll 8
      for (int r = 0; r < DOWN; ++r)
#pragma GCC unroll 2
        for (int v = 0; v < ACROSS; ++v)
          std::memcpy(to + r * width + v * LANES, &sum[r][v], sizeof(Floats));
    }
}

// One head of a tensor (B, heads, length, width) whose rows lie in memory as they are.
struct Head {
  const Bits* at;
  int64_t length, width, down;  // a step from row to row

  Head(const at::Tensor& x, int64_t number)
      : at(static_cast<const Bits*>(x.const_data_ptr()) + number / x.size(1) * x.stride(0) +
           number % x.size(1) * x.stride(1)),
        length(x.size(2)), width(x.size(3)), down(x.stride(2)) {}

  const Bits* row(int64_t number) const { return at + number * down; }

  // Rows as they are, padded: a pair is of two columns.
  void in_rows(std::vector<uint32_t>& to) const {
    const int64_t size = padded(width);
    to.assign(padded(length) * size / 2, 0);
    for (int64_t r = 0; r < length; ++r)
      std::memcpy(to.data() + r * size / 2, row(r), width * sizeof(Bits));
  }

  // Pairs of two rows: row by row of pairs, padded.
  void in_pairs_of_rows(std::vector<uint32_t>& to) const {
    const int64_t size = padded(width);
    to.assign(padded(length) / 2 * size, 0);
    for (int64_t r = 0; r < length; r += 2) {
      const Bits *low = row(r), *high = r + 1 < length ? row(r + 1) : nullptr;
      uint32_t* line = to.data() + r / 2 * size;
      if (high)
        for (int64_t c = 0; c < width; ++c) line[c] = low[c] | uint32_t(high[c]) << 16;
      else
        for (int64_t c = 0; c < width; ++c) line[c] = low[c];
    }
  }
};

inline at::Tensor in_rows(const at::Tensor& x) { return x.stride(3) == 1 ? x : x.contiguous(); }

inline float inner_product(const Bits* a, const Bits* b, int64_t width) {
  float total = 0;
#pragma omp simd reduction(+ : total)
  for (int64_t c = 0; c < width; ++c) total += wide(a[c]) * wide(b[c]);
  return total;
}

// The transpose of rows of pairs.
void transposed(const std::vector<uint32_t>& from, int64_t rows, int64_t pairs,
                std::vector<uint32_t>& to) {
  to.resize(rows * pairs);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t k = 0; k < pairs; ++k) to[k * rows + r] = from[r * pairs + k];
}

// What a thread computes with.
struct Scratch {
  std::vector<uint32_t> q, g, k, v, k_across, v_across, k_pairs, q_pairs, g_pairs;
  std::vector<float> scores, by, of_q, of_k, of_v;
  std::vector<uint32_t> gradients, weight_pairs, gradient_pairs;
};

// Of STEP rows of scores and of gradients by the weights, from `first` on: the weights, and the
// gradients by what the scores are scaled from.
void weights_and_gradients(Scratch& s, const float* sums, const float* inner, int64_t first,
                           int64_t queries, int64_t keys, int64_t columns, int64_t width,
                           bool is_causal, float scale) {
  for (int64_t r = 0; r < STEP; r += 2) {
    int64_t seen[2];
    float sum[2], own[2];
    for (int i = 0; i < 2; ++i) {
      const int64_t row = first + r + i;
      seen[i] = row >= queries ? 0 : is_causal ? std::min(keys, row + 1) : keys;
      sum[i] = row < queries ? sums[row] : 0.f;
      own[i] = row < queries ? inner[row] : 0.f;
    }
    const float *a = s.scores.data() + r * width, *b = a + width;
    const float *c = s.by.data() + r * width, *d = c + width;
    uint32_t* weights = s.weight_pairs.data() + r / 2 * width;
    uint32_t* pairs = s.gradient_pairs.data() + r / 2 * width;
    Bits* lines = reinterpret_cast<Bits*>(s.gradients.data()) + r * width;
    const auto some = int32_t(columns), most = int32_t(seen[0]), more = int32_t(seen[1]);
    for (int32_t j = 0; j < some; ++j) {
      const float p = exponential(a[j] * scale - sum[0]), q = exponential(b[j] * scale - sum[1]);
      const float x = p * (c[j] - own[0]) * scale, y = q * (d[j] - own[1]) * scale;
      const uint32_t low = j < most ? rounded(x) : 0, high = j < more ? rounded(y) : 0;
      weights[j] = (j < most ? rounded(p) : 0) | (j < more ? rounded(q) : 0) << 16;
      pairs[j] = low | high << 16;
      lines[j] = Bits(low);
      lines[width + j] = Bits(high);
    }
  }
}

void store(const float* from, int64_t step, Bits* to, int64_t down, int64_t rows, int64_t columns) {
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c) to[r * down + c] = Bits(rounded(from[r * step + c]));
}

// The gradients of one head, stored at places whose rows are `down` apart.
void of_head(Scratch& s, const Head& g, const Head& q, const Head& k, const Head& v, const Head& out,
             const float* sums, bool is_causal, float scale, Bits* of_q, Bits* of_k, Bits* of_v,
             int64_t down) {
  const int64_t queries = q.length, keys = k.length, width = q.width;
  const int64_t wide_keys = padded(keys), size = padded(width);
  q.in_rows(s.q), g.in_rows(s.g), k.in_rows(s.k), v.in_rows(s.v);
  k.in_pairs_of_rows(s.k_pairs), q.in_pairs_of_rows(s.q_pairs), g.in_pairs_of_rows(s.g_pairs);
  transposed(s.k, wide_keys, size / 2, s.k_across), transposed(s.v, wide_keys, size / 2, s.v_across);
  std::vector<float> inner(queries);
  for (int64_t r = 0; r < queries; ++r) inner[r] = inner_product(g.row(r), out.row(r), width);
  s.scores.resize(STEP * wide_keys), s.by.resize(STEP * wide_keys);
  s.gradients.resize(STEP * wide_keys / 2);
  s.weight_pairs.resize(STEP / 2 * wide_keys), s.gradient_pairs.resize(STEP / 2 * wide_keys);
  s.of_q.resize(STEP * size), s.of_k.assign(wide_keys * size, 0), s.of_v.assign(wide_keys * size, 0);
  for (int64_t i = 0; i < queries; i += STEP) {
    const int64_t columns = is_causal ? std::min(wide_keys, i + STEP) : wide_keys;
    product({s.q.data() + i * size / 2, size / 2, 1}, s.k_across.data(), wide_keys, s.scores.data(),
            STEP, columns, size / 2, false);
    product({s.g.data() + i * size / 2, size / 2, 1}, s.v_across.data(), wide_keys, s.by.data(),
            STEP, columns, size / 2, false);
    weights_and_gradients(s, sums, inner.data(), i, queries, keys, columns, wide_keys, is_causal,
                          scale);
    product({s.gradients.data(), wide_keys / 2, 1}, s.k_pairs.data(), size, s.of_q.data(), STEP,
            size, columns / 2, false);
    store(s.of_q.data(), size, of_q + i * down, down, std::min(STEP, queries - i), width);
    product({s.gradient_pairs.data(), 1, wide_keys}, s.q_pairs.data() + i / 2 * size, size,
            s.of_k.data(), columns, size, STEP / 2, true);
    product({s.weight_pairs.data(), 1, wide_keys}, s.g_pairs.data() + i / 2 * size, size,
            s.of_v.data(), columns, size, STEP / 2, true);
  }
  store(s.of_k.data(), size, of_k, down, keys, width);
  store(s.of_v.data(), size, of_v, down, keys, width);
}

// The weights of STEP rows of scores, from `first` on, not yet divided by their sums.
void weights_of(Scratch& s, float* sums, float* logarithms, int64_t step, int64_t first,
                int64_t queries, int64_t keys, int64_t columns, int64_t width, bool is_causal,
                float scale) {
  for (int64_t r = 0; r < STEP; ++r) {
    const int64_t row = first + r;
    const int64_t seen = row >= queries ? 0 : is_causal ? std::min(keys, row + 1) : keys;
    const float* from = s.scores.data() + r * width;
    Bits* to = reinterpret_cast<Bits*>(s.gradients.data()) + r * width;
    float largest = -std::numeric_limits<float>::infinity(), sum = 0;
#pragma omp simd reduction(max : largest)
    for (int64_t j = 0; j < seen; ++j) largest = from[j] > largest ? from[j] : largest;
    largest *= scale;
#pragma omp simd reduction(+ : sum)
    for (int64_t j = 0; j < seen; ++j) {
      const float p = exponential(from[j] * scale - largest);
      to[j] = Bits(rounded(p));
      sum += p;
    }
    std::fill(to + seen, to + columns, Bits(0));
    sums[r] = sum;
    if (row < queries) logarithms[row * step] = largest + std::log(sum);
  }
}

// The result of one head, stored at places whose rows are `down` apart.
void of_head(Scratch& s, const Head& q, const Head& k, const Head& v, bool is_causal, float scale,
             Bits* out, int64_t down, float* logarithms, int64_t step) {
  const int64_t wide_keys = padded(k.length), size = padded(q.width);
  q.in_rows(s.q), k.in_rows(s.k), v.in_pairs_of_rows(s.v);
  transposed(s.k, wide_keys, size / 2, s.k_across);
  s.scores.resize(STEP * wide_keys), s.gradients.resize(STEP * wide_keys / 2);
  s.of_q.resize(STEP * size);
  for (int64_t i = 0; i < q.length; i += STEP) {
    const int64_t columns = is_causal ? std::min(wide_keys, i + STEP) : wide_keys;
    float sums[STEP];
    product({s.q.data() + i * size / 2, size / 2, 1}, s.k_across.data(), wide_keys, s.scores.data(),
            STEP, columns, size / 2, false);
    weights_of(s, sums, logarithms, step, i, q.length, k.length, columns, wide_keys, is_causal,
               scale);
    product({s.gradients.data(), wide_keys / 2, 1}, s.v.data(), size, s.of_q.data(), STEP, size,
            columns / 2, false);
    const int64_t rows = std::min(STEP, q.length - i);
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < size; ++c) s.of_q[r * size + c] /= sums[r];
    store(s.of_q.data(), size, out + i * down, down, rows, q.width);
  }
}

std::tuple<at::Tensor, at::Tensor> attention(const at::Tensor& query, const at::Tensor& key,
                                             const at::Tensor& value, bool is_causal,
                                             double scale) {
  for (const auto* each : {&query, &key, &value})
    TORCH_CHECK(each->dim() == 4 && each->scalar_type() == at::kBFloat16 &&
                    each->size(0) == query.size(0) && each->size(1) == query.size(1),
                "attention: all must be bfloat16 (B, heads, length, width)");
  const int64_t batch = query.size(0), heads = query.size(1), queries = query.size(2),
                width = query.size(3);
  TORCH_CHECK(key.size(3) == width && value.sizes() == key.sizes() && key.size(2) > 0,
              "attention: shapes don't fit");
  const auto q = in_rows(query), k = in_rows(key), v = in_rows(value);
  // in memory as PyTorch's kernel gives them
  auto out = at::empty({batch, queries, heads, width}, query.options());
  auto sums = at::empty({batch, queries, heads}, query.options().dtype(at::kFloat));
  at::parallel_for(0, batch * heads, 1, [&](int64_t begin, int64_t end) {
    Scratch scratch;
    for (int64_t h = begin; h < end; ++h) {
      const int64_t first = h / heads * queries * heads + h % heads;
      of_head(scratch, Head(q, h), Head(k, h), Head(v, h), is_causal, float(scale),
              static_cast<Bits*>(out.mutable_data_ptr()) + first * width, heads * width,
              sums.mutable_data_ptr<float>() + first, heads);
    }
  });
  return {out.transpose(1, 2), sums.transpose(1, 2)};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> attention_backward(
    const at::Tensor& grad_out, const at::Tensor& query, const at::Tensor& key,
    const at::Tensor& value, const at::Tensor& out, const at::Tensor& logsumexp, bool is_causal,
    double scale) {
  for (const auto* each : {&grad_out, &query, &key, &value, &out})
    TORCH_CHECK(each->dim() == 4 && each->scalar_type() == at::kBFloat16 &&
                    each->size(0) == query.size(0) && each->size(1) == query.size(1),
                "attention_backward: all must be bfloat16 (B, heads, length, width)");
  const int64_t batch = query.size(0), heads = query.size(1), queries = query.size(2),
                keys = key.size(2), width = query.size(3);
  TORCH_CHECK(key.size(3) == width && value.sizes() == key.sizes() &&
                  grad_out.sizes() == query.sizes() && out.sizes() == query.sizes() &&
                  logsumexp.numel() == batch * heads * queries &&
                  logsumexp.scalar_type() == at::kFloat,
              "attention_backward: shapes don't fit");
  const auto sums = logsumexp.contiguous();
  const auto g = in_rows(grad_out), q = in_rows(query), k = in_rows(key), v = in_rows(value),
             o = in_rows(out);
  // in memory as (B, length, heads, width), as PyTorch's kernel gives them
  const auto made = [&](int64_t length) {
    return at::empty({batch, length, heads, width}, query.options());
  };
  auto of_q = made(queries), of_k = made(keys), of_v = made(keys);
  at::parallel_for(0, batch * heads, 1, [&](int64_t begin, int64_t end) {
    Scratch scratch;
    for (int64_t h = begin; h < end; ++h) {
      const auto place = [&](at::Tensor& x) {
        return static_cast<Bits*>(x.mutable_data_ptr()) + h / heads * x.stride(0) +
               h % heads * width;
      };
      of_head(scratch, Head(g, h), Head(q, h), Head(k, h), Head(v, h), Head(o, h),
              sums.const_data_ptr<float>() + h * queries, is_causal, float(scale), place(of_q),
              place(of_k), place(of_v), heads * width);
    }
  });
  return {of_q.transpose(1, 2), of_k.transpose(1, 2), of_v.transpose(1, 2)};
}

TORCH_LIBRARY_FRAGMENT(lamella, m) {
  m.def("attention(Tensor query, Tensor key, Tensor value, bool is_causal, float scale) "
        "-> (Tensor, Tensor)");
  m.def("attention_backward(Tensor grad_out, Tensor query, Tensor key, Tensor value, Tensor out, "
        "Tensor logsumexp, bool is_causal, float scale) -> (Tensor, Tensor, Tensor)");
}
TORCH_LIBRARY_IMPL(lamella, CPU, m) {
  m.impl("attention", attention);
  m.impl("attention_backward", attention_backward);
}

PyModuleDef MODULE = {PyModuleDef_HEAD_INIT, "lamella_attention", nullptr, -1};

}  // namespace

PyMODINIT_FUNC PyInit_lamella_attention() { return PyModule_Create(&MODULE); }
