// Vectors of float32 and bfloat16, and a product of matrices in either type, in one piece of code.
//
// Where a processor multiplies pairs of bfloat16 and adds both products at once, that is used. So
// the numbers along which a product sums lie in words of 32 bits: in bfloat16 a word holds those of
// places 2i and 2i + 1, in float32 one number.
#pragma once

#ifdef __AVX512F__
#include <immintrin.h>
#endif

#include <bit>
#include <cstdint>
#include <cstring>

#include "numbers.h"

constexpr int LANES = 16, ACROSS = 2, DOWN = 8;  // a vector; vectors and rows of a tile of results
constexpr int64_t STEP = LANES * ACROSS;         // sizes are multiples of this, by zeros if need be
typedef float Floats __attribute__((vector_size(4 * LANES)));
typedef uint32_t Words __attribute__((vector_size(4 * LANES)));
typedef Bits Halves __attribute__((vector_size(2 * LANES)));

template <typename T>
constexpr int64_t PAIR = sizeof(uint32_t) / sizeof(T);  // numbers in a word

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

inline Halves narrowed(Floats x) {
#ifdef __AVX512BF16__
  return std::bit_cast<Halves>(_mm512_cvtneps_pbh(std::bit_cast<__m512>(x)));
#else
  const Words bits = (Words)x;
  const Words found = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  return __builtin_convertvector(x != x ? Words{} + 0x7fc0u : found, Halves);
#endif
}

// Words of which each holds two numbers: those of one vector low, of another one high.
inline Words in_pairs(Halves low, Halves high) {
  return __builtin_convertvector(low, Words) | __builtin_convertvector(high, Words) << 16;
}

inline Floats widened(const float* from) { return read<Floats>(from); }
inline Floats widened(const Bits* from) {
  return (Floats)(__builtin_convertvector(read<Halves>(from), Words) << 16);
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
