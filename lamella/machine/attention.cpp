// Attention and its gradient, head by head, with all that a head needs in the caches.
//
// PyTorch's kernels compute them by products of small blocks, each of which calls a library; in
// bfloat16 they take several times as long as the arithmetic. Here one piece of code does all
// products. For the gradient, weights are computed again from the scores and the logarithms of
// sums that the forward pass has kept; scores, their gradients and all sums are in float32.
//
// Where a processor multiplies pairs of bfloat16 and adds both products at once, that is used. So
// the numbers along which a product sums lie in words of 32 bits: in bfloat16 a word holds those of
// places 2i and 2i + 1, in float32 one number.

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

#include "numbers.h"

namespace {

constexpr int LANES = 16, ACROSS = 2, DOWN = 8;  // a vector; vectors and rows of a tile of results
constexpr int64_t STEP = LANES * ACROSS;         // sizes are padded with zeros to multiples of this
typedef float Floats __attribute__((vector_size(4 * LANES)));
typedef uint32_t Words __attribute__((vector_size(4 * LANES)));
typedef int32_t Ints __attribute__((vector_size(4 * LANES)));
typedef Bits Halves __attribute__((vector_size(2 * LANES)));
constexpr Ints COUNTED = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
constexpr float LEAST = -std::numeric_limits<float>::infinity();

template <typename T>
constexpr int64_t PAIR = sizeof(uint32_t) / sizeof(T);  // numbers in a word

inline int64_t padded(int64_t n) { return (n + STEP - 1) / STEP * STEP; }

// sum + a b of the numbers in words, or a0 b0 + a1 b1 of pairs.
template <typename T>
inline Floats plus_products(Floats sum, Words a, Words b) {
  if constexpr (PAIR<T> == 1) return sum + (Floats)a * (Floats)b;
#ifdef __AVX512BF16__
  return std::bit_cast<Floats>(_mm512_dpbf16_ps(std::bit_cast<__m512>(sum),
                                                std::bit_cast<__m512bh>(a),
                                                std::bit_cast<__m512bh>(b)));
#else
  sum += (Floats)(a << 16) * (Floats)(b << 16);
  return sum + (Floats)(a & 0xFFFF0000u) * (Floats)(b & 0xFFFF0000u);
#endif
}

// The exponential function, as that of one number but for what is below 1e-38: that is 0.
inline Floats exponentials(Floats x) {
  const Floats low = Floats{} - 88.1f, high = Floats{} + 88.8f, magic = Floats{} + 12582912.f;
  Floats y = x < low ? low : x;  // NaN stays NaN
  y = y > high ? high : y;
  const Floats shifted = y * 1.44269504f + magic, n = shifted - magic;
  const Floats r = (y - n * 0.693359375f) + n * 2.12194440e-4f;
  Floats p = r * 1.9875691500e-4f + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + (r + 1.f);
  const Ints power = ((Ints)shifted - (Ints)magic + 127) << 23;  // 0 is 0, 255 infinity
  return p * (Floats)power;
}

inline Halves narrowed(Floats x) {
#ifdef __AVX512BF16__
  return std::bit_cast<Halves>(_mm512_cvtneps_pbh(std::bit_cast<__m512>(x)));
#else
  const Words bits = (Words)x;
  const Words found = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  return __builtin_convertvector(x != x ? Words{} + 0x7fc0u : found, Halves);
#endif
}

// What `join` makes of all numbers of a vector.
template <typename F>
inline float joined(Floats x, F join) {
  float numbers[LANES];
  std::memcpy(numbers, &x, sizeof numbers);
#pragma GCC unroll 4
  for (int half = LANES / 2; half; half /= 2)
#pragma GCC unroll 8
    for (int v = 0; v < half; ++v) numbers[v] = join(numbers[v], numbers[v + half]);
  return numbers[0];
}

template <typename V>
inline void write(void* to, V numbers) {
  std::memcpy(to, &numbers, sizeof numbers);
}

// A matrix of words: that of row m and of place k is at m * down + k * across.
struct Rows {
  const uint32_t* at;
  int64_t down, across;
};

// c = a b, or c += a b, with b in rows of `width` words. Columns are multiples of STEP, rows of DOWN.
template <typename T>
void product(Rows a, const uint32_t* b, int64_t width, float* c, int64_t rows, int64_t columns,
             int64_t words, bool adds) {
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
      for (int64_t k = 0; k < words; ++k) {
        Words line[ACROSS];
        std::memcpy(line, b + k * width + n, sizeof line);
        const uint32_t* from = a.at + m * a.down + k * a.across;
#pragma GCC unroll 8
        for (int r = 0; r < DOWN; ++r) {
          const Words same = from[r * a.down] - Words{};
#pragma GCC unroll 2
          for (int v = 0; v < ACROSS; ++v) sum[r][v] = plus_products<T>(sum[r][v], same, line[v]);
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
    to.assign(padded(length) * size, 0);
    for (int64_t r = 0; r < length; ++r) std::memcpy(to.data() + r * size, row(r), width * sizeof(T));
  }

  // A word is of rows: of one, or of two.
  void in_columns(std::vector<uint32_t>& to) const {
    if constexpr (PAIR<T> == 1) return in_rows(to);
    const int64_t size = padded(width);
    to.assign(padded(length) / 2 * size, 0);
    for (int64_t r = 0; r < length; ++r) {
      const auto* from = reinterpret_cast<const Bits*>(row(r));
      uint32_t* line = to.data() + r / 2 * size;
      const int high = r % 2 * 16;
#pragma omp simd
      for (int64_t c = 0; c < width; ++c) line[c] |= uint32_t(from[c]) << high;
    }
  }
};

inline at::Tensor in_rows(const at::Tensor& x) { return x.stride(3) == 1 ? x : x.contiguous(); }

template <typename T>
inline float inner_product(const T* a, const T* b, int64_t width) {
  float total = 0;
#pragma omp simd reduction(+ : total)
  for (int64_t c = 0; c < width; ++c) total += wide(a[c]) * wide(b[c]);
  return total;
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
  std::vector<uint32_t> q, g, k, v, k_across, v_across, k_columns, q_columns, g_columns;
  std::vector<float> scores, by, of_q, of_k, of_v;
  std::vector<uint32_t> gradients, weight_columns, gradient_columns;  // a word is of rows
};

// Of STEP rows of scores and of gradients by the weights, from `first` on: the weights, and the
// gradients by what the scores are scaled from.
template <typename T>
void weights_and_gradients(Scratch& s, const float* sums, const float* inner, int64_t first,
                           int64_t queries, int64_t keys, int64_t columns, int64_t width,
                           bool is_causal, float scale) {
  for (int64_t r = 0; r < STEP; ++r) {
    const int64_t row = first + r;
    const auto seen = int32_t(row >= queries ? 0 : is_causal ? std::min(keys, row + 1) : keys);
    const float sum = row < queries ? sums[row] : 0.f, own = row < queries ? inner[row] : 0.f;
    const float *from = s.scores.data() + r * width, *by = s.by.data() + r * width;
    uint32_t* weights = s.weight_columns.data() + r / PAIR<T> * width;
    uint32_t* gradients = s.gradient_columns.data() + r / PAIR<T> * width;
    Bits* lines = reinterpret_cast<Bits*>(s.gradients.data()) + r * width;
    const bool is_second = r % PAIR<T>;  // whose numbers are the upper halves of words
    for (int64_t j = 0; j < columns; j += LANES) {
      const Floats p = exponentials(read<Floats>(from + j) * scale - sum);
      const Floats d = p * (read<Floats>(by + j) - own) * scale;
      const auto is_seen = COUNTED + int32_t(j) < Ints{} + seen;
      const Floats weight = is_seen ? p : Floats{}, gradient = is_seen ? d : Floats{};
      if constexpr (PAIR<T> == 1) {
        write(weights + j, weight), write(gradients + j, gradient);
      } else {
        const Halves w = narrowed(weight), g = narrowed(gradient);
        Words both = __builtin_convertvector(w, Words), own_both = __builtin_convertvector(g, Words);
        if (is_second) {
          both = both << 16 | read<Words>(weights + j);
          own_both = own_both << 16 | read<Words>(gradients + j);
        }
        write(weights + j, both), write(gradients + j, own_both), write(lines + j, g);
      }
    }
  }
}

template <typename T>
void store(const float* from, int64_t step, T* to, int64_t down, int64_t rows, int64_t columns) {
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c) to[r * down + c] = narrow<T>(from[r * step + c]);
}

// The gradients of one head, stored at places whose rows are `down` apart.
template <typename T>
void of_head(Scratch& s, const Head<T>& g, const Head<T>& q, const Head<T>& k, const Head<T>& v,
             const Head<T>& out, const float* sums, bool is_causal, float scale, T* of_q, T* of_k,
             T* of_v, int64_t down) {
  const int64_t queries = q.length, keys = k.length, width = q.width;
  const int64_t wide_keys = padded(keys), size = padded(width), words = size / PAIR<T>;
  q.in_rows(s.q), g.in_rows(s.g), k.in_rows(s.k), v.in_rows(s.v);
  k.in_columns(s.k_columns), q.in_columns(s.q_columns), g.in_columns(s.g_columns);
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
void weights_of(Scratch& s, float* sums, float* logarithms, int64_t step, int64_t first,
                int64_t queries, int64_t keys, int64_t columns, int64_t width, bool is_causal,
                float scale) {
  for (int64_t r = 0; r < STEP; ++r) {
    const int64_t row = first + r;
    const auto seen = int32_t(row >= queries ? 0 : is_causal ? std::min(keys, row + 1) : keys);
    const float* from = s.scores.data() + r * width;
    T* to = reinterpret_cast<T*>(s.gradients.data()) + r * width;
    Floats most = Floats{} + LEAST, total{};
    for (int64_t j = 0; j < columns; j += LANES) {
      const Floats scores = read<Floats>(from + j);
      most = COUNTED + int32_t(j) < Ints{} + seen && scores > most ? scores : most;
    }
    const float largest =
        scale * joined(most, [](float a, float b) { return a > b ? a : b; });
    for (int64_t j = 0; j < columns; j += LANES) {
      const Floats all = exponentials(read<Floats>(from + j) * scale - largest);
      const Floats p = COUNTED + int32_t(j) < Ints{} + seen ? all : Floats{};
      if constexpr (PAIR<T> == 1) write(to + j, p);
      else write(to + j, narrowed(p));
      total += p;
    }
    const float sum = joined(total, [](float a, float b) { return a + b; });
    sums[r] = sum;
    if (row < queries) logarithms[row * step] = largest + std::log(sum);
  }
}

// The result of one head, stored at places whose rows are `down` apart.
template <typename T>
void of_head(Scratch& s, const Head<T>& q, const Head<T>& k, const Head<T>& v, bool is_causal,
             float scale, T* out, int64_t down, float* logarithms, int64_t step) {
  const int64_t wide_keys = padded(k.length), size = padded(q.width), words = size / PAIR<T>;
  q.in_rows(s.q), k.in_rows(s.k), v.in_columns(s.v);
  transposed(s.k, wide_keys, words, s.k_across);
  s.scores.resize(STEP * wide_keys), s.gradients.resize(STEP * wide_keys / PAIR<T>);
  s.of_q.resize(STEP * size);
  for (int64_t i = 0; i < q.length; i += STEP) {
    const int64_t columns = is_causal ? std::min(wide_keys, i + STEP) : wide_keys;
    float sums[STEP];
    product<T>({s.q.data() + i * words, words, 1}, s.k_across.data(), wide_keys, s.scores.data(),
               STEP, columns, words, false);
    weights_of<T>(s, sums, logarithms, step, i, q.length, k.length, columns, wide_keys, is_causal,
                  scale);
    product<T>({s.gradients.data(), wide_keys / PAIR<T>, 1}, s.v.data(), size, s.of_q.data(), STEP,
               size, columns / PAIR<T>, false);
    const int64_t rows = std::min(STEP, q.length - i);
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < size; ++c) s.of_q[r * size + c] /= sums[r];
    store(s.of_q.data(), size, out + i * down, down, rows, q.width);
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
