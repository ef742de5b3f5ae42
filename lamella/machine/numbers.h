// Numbers of 16 bits and the exponential function, in forms that loops of them become vectors.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>

// A vector from any place in memory.
template <typename V>
inline V read(const void* from) {
  V out;
  std::memcpy(&out, from, sizeof out);
  return out;
}

using Bits = uint16_t;  // of a bfloat16

inline float wide(Bits x) { return std::bit_cast<float>(uint32_t(x) << 16); }
inline float wide(float x) { return x; }

inline uint32_t rounded(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  return x != x ? 0x7fc0u : (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
}

template <typename T>
inline T narrow(float x) {
  if constexpr (sizeof(T) == sizeof(Bits)) return T(rounded(x));
  else return x;
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
