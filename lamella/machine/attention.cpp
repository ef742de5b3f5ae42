// Attention and its gradient, head by head, with all that a head needs in the caches.
//
// PyTorch's kernels compute them by products of small blocks, each of which calls a library; in
// bfloat16 they take several times as long as the arithmetic. Here one piece of code does all
// products. For the gradient, weights are computed again from the scores and the logarithms of
// sums that the forward pass has kept; scores, their gradients and all sums are in float32.

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <Python.h>
#include <torch/library.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "numbers.h"
#include "products.h"

namespace {

typedef float Eight __attribute__((vector_size(2 * LANES))), Four __attribute__((vector_size(LANES)));
typedef int32_t Ints __attribute__((vector_size(4 * LANES)));
constexpr Ints COUNTED = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
constexpr float LEAST = -std::numeric_limits<float>::infinity();

inline int64_t padded(int64_t n) { return (n + STEP - 1) / STEP * STEP; }

// Powers of two that are weights: 0 below 2^-126, and 1 at most, since only rounding goes beyond it.
inline Floats powers_of_two(Floats x) {
#ifdef __AVX512F__
  const __m512 y = _mm512_max_ps(_mm512_set1_ps(-127.f),  // NaN stays
                                 _mm512_min_ps(_mm512_setzero_ps(), std::bit_cast<__m512>(x)));
  const Floats n = std::bit_cast<Floats>(_mm512_roundscale_ps(y, _MM_FROUND_TO_NEAREST_INT));
  const Floats r = std::bit_cast<Floats>(y) - n;
#else
  const Floats low = Floats{} - 127.f, high = Floats{}, magic = Floats{} + 12582912.f;
  Floats y = x < low ? low : x;  // NaN stays NaN
  y = y > high ? high : y;
  const Floats shifted = y + magic, n = shifted - magic, r = y - n;
#endif
  Floats p = r * 1.535336188e-4f + 1.339887440e-3f;
  p = p * r + 9.618437357e-3f;
  p = p * r + 5.550332471e-2f;
  p = p * r + 2.402264791e-1f;
  p = p * r + 6.931472028e-1f;
  p = p * r + 1.f;
#ifdef __AVX512F__
  return std::bit_cast<Floats>(
      _mm512_scalef_ps(std::bit_cast<__m512>(p), std::bit_cast<__m512>(n)));
#else
  const Ints power = ((Ints)shifted - (Ints)magic + 127) << 23;  // 0 is 0, 255 infinity
  return p * (Floats)power;
#endif
}

// What `join` makes of all numbers of a vector: of its halves, and of theirs.
template <typename F>
inline float joined(Floats x, F join) {
#if __has_builtin(__builtin_shufflevector)
  const auto eight = join(__builtin_shufflevector(x, x, 0, 1, 2, 3, 4, 5, 6, 7),
                          __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15));
  const auto four = join(__builtin_shufflevector(eight, eight, 0, 1, 2, 3),
                         __builtin_shufflevector(eight, eight, 4, 5, 6, 7));
#else  // GCC 11
  struct Halved { Eight low, high; };
  struct Quartered { Four low, high; };
  const auto half = std::bit_cast<Halved>(x);
  const auto quarter = std::bit_cast<Quartered>(join(half.low, half.high));
  const auto four = join(quarter.low, quarter.high);
#endif
  return join(join(four[0], four[2]), join(four[1], four[3]));
}

constexpr auto GREATER = [](auto a, auto b) { return a > b ? a : b; };
constexpr auto SUM = [](auto a, auto b) { return a + b; };
constexpr float LOG2_E = 1.44269504f;

// One head of a tensor (B, heads, length, width) whose rows lie in memory as they are.
template <typename T>
struct Head {
  const T* at;
  int64_t length, width, down;  // a step from row to row

  Head(const at::Tensor& x, int64_t number)
      : at(static_cast<const T*>(x.const_data_ptr()) + number / x.size(1) * x.stride(0) +
           number % x.size(1) * x.stride(1)),
        length(x.size(2)), width(x.size(3)), down(x.stride(2)) {}

  const T* row(int64_t number) const { return at + number * down; }

  // Rows as they are, padded: a word is of columns.
  void in_rows(std::vector<uint32_t>& to) const {
    const int64_t size = padded(width) / PAIR<T>;
    to.resize(padded(length) * size);
    std::fill(to.begin() + length * size, to.end(), 0);
    for (int64_t r = 0; r < length; ++r) {
      uint32_t* line = to.data() + r * size;
      __builtin_prefetch(row(r) + width);  // the next head, whose row lies there as a rule
      if (width < padded(width)) {
        std::fill(line, line + size, 0);
        std::memcpy(line, row(r), width * sizeof(T));
      } else {
        for (int64_t k = 0; k < size; k += LANES)
          write(line + k, read<Words>(reinterpret_cast<const char*>(row(r)) + k * sizeof(uint32_t)));
      }
    }
  }
};

inline at::Tensor in_rows(const at::Tensor& x) { return x.stride(3) == 1 ? x : x.contiguous(); }

template <typename T>
inline float inner_product(const T* a, const T* b, int64_t width) {
  Floats sum{};
  int64_t c = 0;
  for (; c + LANES <= width; c += LANES) sum += widened(a + c) * widened(b + c);
  float total = joined(sum, SUM);
  for (; c < width; ++c) total += wide(a[c]) * wide(b[c]);
  return total;
}

// Of padded rows, in which a word is of columns: one is of rows then, of one or of two.
template <typename T>
void in_columns(const std::vector<uint32_t>& from, int64_t size, std::vector<uint32_t>& to) {
  to.resize(from.size());
  if constexpr (PAIR<T> == 1) {
    std::copy(from.begin(), from.end(), to.begin());
  } else {
    const auto* low = reinterpret_cast<const Bits*>(from.data());
    for (size_t i = 0; i < to.size(); i += size, low += 2 * size)
      for (int64_t c = 0; c < size; c += LANES)
        write(to.data() + i + c, in_pairs(read<Halves>(low + c), read<Halves>(low + size + c)));
  }
}

// The transpose of rows of words.
void transposed(const std::vector<uint32_t>& from, int64_t rows, int64_t words,
                std::vector<uint32_t>& to) {
  to.resize(rows * words);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t k = 0; k < words; ++k) to[k * rows + r] = from[r * words + k];
}

// What a thread computes with.
struct Scratch {
  std::vector<uint32_t> q, g, k, v, k_across, v_across;
  std::vector<uint32_t> q_columns, g_columns, k_columns, v_columns;
  std::vector<float> scores, by, of_q, of_k, of_v;
  std::vector<uint32_t> gradients, weight_columns, gradient_columns;  // a word is of rows
};

// How many keys a query sees; one that isn't there sees none.
inline int32_t keys_seen(int64_t row, int64_t queries, int64_t keys, bool is_causal) {
  return int32_t(row >= queries ? 0 : is_causal ? std::min(keys, row + 1) : keys);
}

// Of STEP rows of scores and of gradients by the weights, from `first` on: the weights, and the
// gradients by what the scores are scaled from.
template <typename T>
void weights_and_gradients(Scratch& s, const float* sums, const float* inner, int64_t first,
                           int64_t queries, int64_t keys, int64_t columns, int64_t width,
                           bool is_causal, float scale) {
  constexpr int64_t N = PAIR<T>;  // rows at once
  for (int64_t r = 0; r < STEP; r += N) {
    const int64_t row = first + r;
    int32_t seen[N];
    float sum[N], own[N];
    for (int64_t i = 0; i < N; ++i) {
      seen[i] = keys_seen(row + i, queries, keys, is_causal);
      sum[i] = row + i < queries ? sums[row + i] * LOG2_E : 0.f;
      own[i] = row + i < queries ? inner[row + i] : 0.f;
    }
    const float *from = s.scores.data() + r * width, *by = s.by.data() + r * width;
    uint32_t* weights = s.weight_columns.data() + r / N * width;
    uint32_t* gradients = s.gradient_columns.data() + r / N * width;
    Bits* lines = reinterpret_cast<Bits*>(s.gradients.data()) + r * width;
    const auto piece = [&](int64_t j, bool is_whole) {
      Floats p[N], d[N];
#pragma GCC unroll 2
      for (int64_t i = 0; i < N; ++i) {
        p[i] = powers_of_two(read<Floats>(from + i * width + j) * (scale * LOG2_E) - sum[i]);
        d[i] = p[i] * scale * (read<Floats>(by + i * width + j) - own[i]);
        if (!is_whole) {
          const auto is_seen = COUNTED + int32_t(j) < Ints{} + seen[i];
          p[i] = is_seen ? p[i] : Floats{}, d[i] = is_seen ? d[i] : Floats{};
        }
      }
      if constexpr (N == 1) {
        write(weights + j, p[0]), write(gradients + j, d[0]);
      } else {
        const Halves low = narrowed(d[0]), high = narrowed(d[1]);
        write(weights + j, in_pairs(narrowed(p[0]), narrowed(p[1])));
        write(gradients + j, in_pairs(low, high));
        write(lines + j, low), write(lines + width + j, high);
      }
    };
    const int64_t whole = std::min(seen[0], seen[N - 1]) / LANES * LANES;
    for (int64_t j = 0; j < whole; j += LANES) piece(j, true);
    for (int64_t j = whole; j < columns; j += LANES) piece(j, false);
  }
}

template <typename T>
inline void write_narrow(T* to, Floats numbers) {
  if constexpr (PAIR<T> == 1) write(to, numbers);
  else write(to, narrowed(numbers));
}

// Rows of results, each times a number of its own.
template <typename T>
void store(const float* from, int64_t step, T* to, int64_t down, int64_t rows, int64_t columns,
           const float* times = nullptr) {
  for (int64_t r = 0; r < rows; ++r) {
    const float* line = from + r * step;
    const float factor = times ? times[r] : 1.f;
    int64_t c = 0;
    for (; c + LANES <= columns; c += LANES)
      write_narrow(to + r * down + c, read<Floats>(line + c) * factor);
    for (; c < columns; ++c) to[r * down + c] = narrow<T>(line[c] * factor);
  }
}

// The gradients of one head, stored at places whose rows are `down` apart.
template <typename T>
void of_head(Scratch& s, const Head<T>& g, const Head<T>& q, const Head<T>& k, const Head<T>& v,
             const Head<T>& out, const float* sums, bool is_causal, float scale, T* of_q, T* of_k,
             T* of_v, int64_t down) {
  const int64_t queries = q.length, keys = k.length, width = q.width;
  const int64_t wide_keys = padded(keys), size = padded(width), words = size / PAIR<T>;
  q.in_rows(s.q), g.in_rows(s.g), k.in_rows(s.k), v.in_rows(s.v);
  in_columns<T>(s.k, size, s.k_columns), in_columns<T>(s.q, size, s.q_columns);
  in_columns<T>(s.g, size, s.g_columns);
  transposed(s.k, wide_keys, words, s.k_across), transposed(s.v, wide_keys, words, s.v_across);
  std::vector<float> inner(queries);
  for (int64_t r = 0; r < queries; ++r) inner[r] = inner_product(g.row(r), out.row(r), width);
  const int64_t block = STEP * wide_keys;
  s.scores.resize(block), s.by.resize(block), s.gradients.resize(block / PAIR<T>);
  s.weight_columns.resize(block / PAIR<T>), s.gradient_columns.resize(block / PAIR<T>);
  s.of_q.resize(STEP * size), s.of_k.assign(wide_keys * size, 0), s.of_v.assign(wide_keys * size, 0);
  const auto& lines = PAIR<T> == 1 ? s.gradient_columns : s.gradients;
  for (int64_t i = 0; i < queries; i += STEP) {
    const int64_t columns = is_causal ? std::min(wide_keys, i + STEP) : wide_keys;
    const int64_t before = i / PAIR<T> * size;  // words of earlier rows
    product<T>({s.q.data() + i * words, words, 1}, s.k_across.data(), wide_keys, s.scores.data(),
               STEP, columns, words, false);
    product<T>({s.g.data() + i * words, words, 1}, s.v_across.data(), wide_keys, s.by.data(), STEP,
               columns, words, false);
    weights_and_gradients<T>(s, sums, inner.data(), i, queries, keys, columns, wide_keys, is_causal,
                             scale);
    product<T>({lines.data(), wide_keys / PAIR<T>, 1}, s.k_columns.data(), size, s.of_q.data(),
               STEP, size, columns / PAIR<T>, false);
    store(s.of_q.data(), size, of_q + i * down, down, std::min(STEP, queries - i), width);
    product<T>({s.gradient_columns.data(), 1, wide_keys}, s.q_columns.data() + before, size,
               s.of_k.data(), columns, size, STEP / PAIR<T>, true);
    product<T>({s.weight_columns.data(), 1, wide_keys}, s.g_columns.data() + before, size,
               s.of_v.data(), columns, size, STEP / PAIR<T>, true);
  }
  store(s.of_k.data(), size, of_k, down, keys, width);
  store(s.of_v.data(), size, of_v, down, keys, width);
}

// The weights of STEP rows of scores, from `first` on, not yet divided by their sums.
template <typename T>
void weights_of(Scratch& s, float* inverses, float* logarithms, int64_t step, int64_t first,
                int64_t queries, int64_t keys, int64_t columns, int64_t width, bool is_causal,
                float scale) {
  for (int64_t r = 0; r < STEP; ++r) {
    const int64_t row = first + r;
    const int32_t seen = keys_seen(row, queries, keys, is_causal);
    const int64_t whole = seen / LANES * LANES;
    const float* from = s.scores.data() + r * width;
    T* to = reinterpret_cast<T*>(s.gradients.data()) + r * width;
    Floats most = Floats{} + LEAST, total{};
    for (int64_t j = 0; j < whole; j += LANES) most = GREATER(read<Floats>(from + j), most);
    for (int64_t j = whole; j < seen; j += LANES)
      most = COUNTED + int32_t(j) < Ints{} + seen ? GREATER(read<Floats>(from + j), most) : most;
    const float largest = joined(most, GREATER);
    const auto piece = [&](int64_t j, bool is_whole) {
      Floats p = powers_of_two((read<Floats>(from + j) - largest) * (scale * LOG2_E));
      if (!is_whole) p = COUNTED + int32_t(j) < Ints{} + seen ? p : Floats{};
      write_narrow(to + j, p);
      total += p;
    };
    for (int64_t j = 0; j < whole; j += LANES) piece(j, true);
    for (int64_t j = whole; j < columns; j += LANES) piece(j, false);
    const float sum = joined(total, SUM);
    inverses[r] = 1 / sum;
    if (row < queries) logarithms[row * step] = largest * scale + std::log(sum);
  }
}

// The result of one head, stored at places whose rows are `down` apart.
template <typename T>
void of_head(Scratch& s, const Head<T>& q, const Head<T>& k, const Head<T>& v, bool is_causal,
             float scale, T* out, int64_t down, float* logarithms, int64_t step) {
  const int64_t wide_keys = padded(k.length), size = padded(q.width), words = size / PAIR<T>;
  q.in_rows(s.q), k.in_rows(s.k), v.in_rows(s.v), in_columns<T>(s.v, size, s.v_columns);
  transposed(s.k, wide_keys, words, s.k_across);
  s.scores.resize(STEP * wide_keys), s.gradients.resize(STEP * wide_keys / PAIR<T>);
  s.of_q.resize(STEP * size);
  for (int64_t i = 0; i < q.length; i += STEP) {
    const int64_t columns = is_causal ? std::min(wide_keys, i + STEP) : wide_keys;
    float inverses[STEP];
    product<T>({s.q.data() + i * words, words, 1}, s.k_across.data(), wide_keys, s.scores.data(),
               STEP, columns, words, false);
    weights_of<T>(s, inverses, logarithms, step, i, q.length, k.length, columns, wide_keys,
                  is_causal, scale);
    product<T>({s.gradients.data(), wide_keys / PAIR<T>, 1}, s.v_columns.data(), size,
               s.of_q.data(), STEP, size, columns / PAIR<T>, false);
    store(s.of_q.data(), size, out + i * down, down, std::min(STEP, q.length - i), q.width,
          inverses);
  }
}

// A function of a number of the type that a tensor has.
template <typename F>
void by_type(const at::Tensor& x, F function) {
  if (x.scalar_type() == at::kFloat) function(float());
  else function(Bits());
}

bool is_known(const at::Tensor& x, const at::Tensor& like) {
  return x.dim() == 4 && (x.scalar_type() == at::kBFloat16 || x.scalar_type() == at::kFloat) &&
         x.scalar_type() == like.scalar_type() && x.size(0) == like.size(0) &&
         x.size(1) == like.size(1);
}

std::tuple<at::Tensor, at::Tensor> attention(const at::Tensor& query, const at::Tensor& key,
                                             const at::Tensor& value, bool is_causal,
                                             double scale) {
  for (const auto* each : {&query, &key, &value})
    TORCH_CHECK(is_known(*each, query),
                "attention: all must be (B, heads, length, width) in float32 or bfloat16");
  const int64_t batch = query.size(0), heads = query.size(1), queries = query.size(2),
                width = query.size(3);
  TORCH_CHECK(key.size(3) == width && value.sizes() == key.sizes() && key.size(2) > 0,
              "attention: shapes don't fit");
  const auto q = in_rows(query), k = in_rows(key), v = in_rows(value);
  // in memory as PyTorch's kernel gives them
  auto out = at::empty({batch, queries, heads, width}, query.options());
  auto sums = at::empty({batch, queries, heads}, query.options().dtype(at::kFloat));
  by_type(query, [&](auto number) {
    using T = decltype(number);
    at::parallel_for(0, batch * heads, 1, [&](int64_t begin, int64_t end) {
      Scratch scratch;
      for (int64_t h = begin; h < end; ++h) {
        const int64_t first = h / heads * queries * heads + h % heads;
        of_head(scratch, Head<T>(q, h), Head<T>(k, h), Head<T>(v, h), is_causal, float(scale),
                static_cast<T*>(out.mutable_data_ptr()) + first * width, heads * width,
                sums.mutable_data_ptr<float>() + first, heads);
      }
    });
  });
  return {out.transpose(1, 2), sums.transpose(1, 2)};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> attention_backward(
    const at::Tensor& grad_out, const at::Tensor& query, const at::Tensor& key,
    const at::Tensor& value, const at::Tensor& out, const at::Tensor& logsumexp, bool is_causal,
    double scale) {
  for (const auto* each : {&grad_out, &query, &key, &value, &out})
    TORCH_CHECK(is_known(*each, query),
                "attention_backward: all must be (B, heads, length, width) in float32 or bfloat16");
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
  by_type(query, [&](auto number) {
    using T = decltype(number);
    at::parallel_for(0, batch * heads, 1, [&](int64_t begin, int64_t end) {
      Scratch scratch;
      for (int64_t h = begin; h < end; ++h) {
        const auto place = [&](at::Tensor& x) {
          return static_cast<T*>(x.mutable_data_ptr()) + h / heads * x.stride(0) + h % heads * width;
        };
        of_head(scratch, Head<T>(g, h), Head<T>(q, h), Head<T>(k, h), Head<T>(v, h), Head<T>(o, h),
                sums.const_data_ptr<float>() + h * queries, is_causal, float(scale), place(of_q),
                place(of_k), place(of_v), heads * width);
      }
    });
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
