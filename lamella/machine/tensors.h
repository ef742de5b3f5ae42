// Tensors in float32 or bfloat16, read and written as floats.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstring>
#include <optional>

#include "numbers.h"

using Given = std::optional<at::Tensor>;

inline bool is_narrow(const at::Tensor& x) { return x.scalar_type() == at::kBFloat16; }

// What is read: numbers of either type, as floats.
struct Source {
  const void* at = nullptr;
  bool narrow = false;

  explicit Source(const Given& x) {
    if (x) at = x->const_data_ptr(), narrow = is_narrow(*x);
  }

  explicit operator bool() const { return at; }

  // The numbers from a place on; `room` is where they are converted to.
  const float* read(int64_t from, int64_t count, float* room) const {
    if (!narrow) return static_cast<const float*>(at) + from;
    const Bits* bits = static_cast<const Bits*>(at) + from;
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) room[i] = wide(bits[i]);
    return room;
  }
};

// What is written, if it is wanted.
struct Target {
  void* at = nullptr;
  bool narrow = false;

  explicit Target(at::Tensor& x) : narrow(is_narrow(x)) {
    if (x.numel()) at = x.mutable_data_ptr();
  }

  void write(int64_t from, int64_t count, const float* numbers) const {
    if (!at) return;
    if (!narrow) {
      std::memcpy(static_cast<float*>(at) + from, numbers, count * sizeof(float));
      return;
    }
    Bits* bits = static_cast<Bits*>(at) + from;
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) bits[i] = Bits(rounded(numbers[i]));
  }
};
