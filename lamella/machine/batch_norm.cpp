// Batch normalization with what follows it: a sum with another tensor, ReLU, a cast to 16 bits; and
// its gradient with what comes before it. Each reads its inputs twice and writes each result once,
// where one kernel after the other would write and read every intermediate value in float32.
//
// All is computed in float32, piece by piece: a piece is converted, used and written while it is in
// the nearest cache. Sums over pieces are in float64; variances are joined by Chan's formula
// (Chan, Golub, LeVeque, "Algorithms for computing the sample variance", 1983).

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <Python.h>
#include <torch/library.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <type_traits>
#include <vector>

#include "numbers.h"
#include "tensors.h"

namespace {

constexpr int64_t PIECE = 1024;  // numbers that are computed at a time, if a row isn't longer
using Doubles = std::vector<double>;
using Floats = std::vector<float>;

// How the numbers of channels lie in memory: in planes, or side by side in rows.
struct Layout {
  int64_t channels, planes, plane;  // planes of each channel, and numbers of each of them
  bool rows;                        // then each plane is one number

  int64_t each() const { return planes * plane; }  // numbers of a channel

  // Calls `one(first, count)` for the pieces of a channel, which lie in planes.
  template <typename F>
  void of_channel(int64_t channel, F one) const {
    for (int64_t n = 0; n < planes; ++n)
      for (int64_t i = 0; i < plane; i += PIECE)
        one((n * channels + channel) * plane + i, std::min(PIECE, plane - i));
  }

  // Calls `one(first, rows)` for the pieces of some rows.
  template <typename F>
  void of_rows(int64_t begin, int64_t end, F one) const {
    const int64_t most = std::max<int64_t>(1, PIECE / channels);
    for (int64_t r = begin; r < end; r += most) one(r * channels, std::min(most, end - r));
  }

  // Calls `part(begin, end, number)` in threads, for parts of the rows; returns how many there are.
  template <typename F>
  int64_t in_threads(F part) const {
    const int64_t parts = std::min<int64_t>(at::get_num_threads(), std::max<int64_t>(1, each()));
    at::parallel_for(0, parts, 1, [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) part(each() * p / parts, each() * (p + 1) / parts, p);
    });
    return parts;
  }

  template <typename F>
  void channels_in_threads(F one) const {
    at::parallel_for(0, channels, 1, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) one(c);
    });
  }

  int64_t room() const { return rows ? std::max(PIECE, channels) : PIECE; }
};

// ---- numbers of one channel, and rows of numbers of all channels --------------------------------

inline float sum_of(const float* x, int64_t count) {
  float total = 0;
#pragma omp simd reduction(+ : total)
  for (int64_t i = 0; i < count; ++i) total += x[i];
  return total;
}

inline float squares_of(const float* x, int64_t count, float mean) {
  float total = 0;
#pragma omp simd reduction(+ : total)
  for (int64_t i = 0; i < count; ++i) total += (x[i] - mean) * (x[i] - mean);
  return total;
}

inline float products_of(const float* g, const float* x, int64_t count, float mean) {
  float total = 0;
#pragma omp simd reduction(+ : total)
  for (int64_t i = 0; i < count; ++i) total += g[i] * (x[i] - mean);
  return total;
}

// Calls `one(columns, row)`, whose inner loop is over columns, for each row.
template <typename F>
inline void by_rows(int64_t rows, int64_t columns, F one) {
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t at = r * columns;
#pragma omp simd
    for (int64_t c = 0; c < columns; ++c) one(c, at + c);
  }
}

// ---- statistics ---------------------------------------------------------------------------------

// Means, and sums of squared differences from them, of some numbers of each channel.
struct Moments {
  double count = 0;
  Doubles mean, squares, sums;  // of infinite numbers only the sums are right

  explicit Moments(int64_t channels) : mean(channels), squares(channels), sums(channels) {}

  template <typename T>
  void join(double more, const T* its_mean, const T* its_squares, int64_t first, int64_t last) {
    const double all = count + more, share = all ? more / all : 0, both = count * share;
#pragma omp simd
    for (int64_t c = first; c < last; ++c) {
      const double apart = its_mean[c - first] - mean[c];
      mean[c] += apart * share, sums[c] += its_mean[c - first] * more;
      squares[c] += its_squares[c - first] + apart * apart * both;
    }
  }
};

Moments moments_of(const Source& x, const Layout& layout) {
  const int64_t channels = layout.channels;
  Moments found(channels);
  if (!layout.rows) {
    layout.channels_in_threads([&](int64_t c) {
      float room[PIECE];
      Moments own(1);
      layout.of_channel(c, [&](int64_t first, int64_t count) {
        const float* numbers = x.read(first, count, room);
        const float mean = sum_of(numbers, count) / float(count);
        const float squares = squares_of(numbers, count, mean);
        own.join(double(count), &mean, &squares, 0, 1);
        own.count += double(count);
      });
      found.squares[c] = own.squares[0], found.sums[c] = own.sums[0];
    });
    found.count = double(layout.each());
    return found;
  }
  std::vector<Moments> parts(at::get_num_threads(), Moments(channels));
  layout.in_threads([&](int64_t begin, int64_t end, int64_t number) {
    Floats room(layout.room()), means(channels), squares(channels);
    Moments& own = parts[number];
    layout.of_rows(begin, end, [&](int64_t first, int64_t rows) {
      const float* numbers = x.read(first, rows * channels, room.data());
      float *mean = means.data(), *square = squares.data();
      std::fill_n(mean, channels, 0.f), std::fill_n(square, channels, 0.f);
      by_rows(rows, channels, [=](int64_t c, int64_t i) { mean[c] += numbers[i]; });
      for (int64_t c = 0; c < channels; ++c) mean[c] /= float(rows);
      by_rows(rows, channels, [=](int64_t c, int64_t i) {
        square[c] += (numbers[i] - mean[c]) * (numbers[i] - mean[c]);
      });
      own.join(double(rows), mean, square, 0, channels);
      own.count += double(rows);
    });
  });
  for (const Moments& part : parts) {
    if (!part.count) continue;
    found.join(part.count, part.mean.data(), part.squares.data(), 0, channels);
    found.count += part.count;
  }
  return found;
}

// ---- checks -------------------------------------------------------------------------------------

bool in_rows(const at::Tensor& x) {
  return x.dim() == 2 || (x.size(1) > 1 && x.stride(1) == 1 && !x.is_contiguous());
}

bool is_dense(const at::Tensor& x) {
  return x.is_contiguous() || (x.dim() == 4 && x.is_contiguous(at::MemoryFormat::ChannelsLast)) ||
         (x.dim() == 5 && x.is_contiguous(at::MemoryFormat::ChannelsLast3d));
}

void check(const char* name, const char* what, const Given& x, const at::Tensor& like) {
  if (!x) return;
  TORCH_CHECK(x->sizes() == like.sizes() && x->strides() == like.strides() && x->is_cpu() &&
                  (is_narrow(*x) || x->scalar_type() == at::kFloat),
              name, ": ", what, " must be float32 or bfloat16, in memory as x");
}

void check_channels(const char* name, const char* what, const Given& x, int64_t channels) {
  TORCH_CHECK(!x || (x->dim() == 1 && x->size(0) == channels && x->is_contiguous() &&
                     x->scalar_type() == at::kFloat && x->is_cpu()),
              name, ": ", what, " must be (C,) in float32");
}

Layout layout_of(const char* name, const at::Tensor& x) {
  TORCH_CHECK(x.dim() >= 2 && x.numel() > 0 && is_dense(x),
              name, ": x must be (N, C, ...), contiguous or with its channels last");
  const int64_t channels = x.size(1), each = x.numel() / channels;
  return in_rows(x) ? Layout{channels, each, 1, true}
                    : Layout{channels, x.size(0), each / x.size(0), false};
}

at::Tensor made(const at::Tensor& x, bool wanted, at::ScalarType type) {
  const auto options = x.options().dtype(type);
  return wanted ? at::empty_like(x, options) : at::empty({0}, options);
}

at::Tensor per_channel(const at::Tensor& x) {
  return at::empty({x.size(1)}, x.options().dtype(at::kFloat));
}

// ---- the operators ------------------------------------------------------------------------------

using Four = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor>;

// The result in float32 and in bfloat16, whichever is wanted, means, and 1 / standard deviations.
Four batch_norm(const at::Tensor& x, const Given& weight, const Given& bias, const Given& added,
                double eps, bool relu, bool in_wide, bool in_narrow) {
  const Layout layout = layout_of("batch_norm", x);
  const int64_t channels = layout.channels;
  check("batch_norm", "x", x, x), check("batch_norm", "added", added, x);
  check_channels("batch_norm", "weight", weight, channels);
  check_channels("batch_norm", "bias", bias, channels);
  const Source from(x), more(added);
  const Moments moments = moments_of(from, layout);
  auto mean = per_channel(x), inverse = per_channel(x);
  auto y = made(x, in_wide, at::kFloat), halves = made(x, in_narrow, at::kBFloat16);
  Floats factors(channels), shifts(channels);
  for (int64_t c = 0; c < channels; ++c) {
    const auto its_mean = float(moments.sums[c] / moments.count);
    const auto its = float(1 / std::sqrt(moments.squares[c] / moments.count + eps));
    mean.mutable_data_ptr<float>()[c] = its_mean, inverse.mutable_data_ptr<float>()[c] = its;
    factors[c] = weight ? its * weight->const_data_ptr<float>()[c] : its;
    shifts[c] = (bias ? bias->const_data_ptr<float>()[c] : 0.f) - its_mean * factors[c];
  }
  const Target to(y), to_halves(halves);
  const auto end = [&](int64_t first, int64_t count, float* out, float* room) {
    if (more) {
      const float* other = more.read(first, count, room);
#pragma omp simd
      for (int64_t i = 0; i < count; ++i) out[i] += other[i];
    }
    if (relu) {
#pragma omp simd
      for (int64_t i = 0; i < count; ++i) out[i] = out[i] < 0.f ? 0.f : out[i];  // NaN stays
    }
    to.write(first, count, out), to_halves.write(first, count, out);
  };
  if (!layout.rows) {
    layout.channels_in_threads([&](int64_t c) {
      float room[PIECE], out[PIECE];
      const float factor = factors[c], shift = shifts[c];
      layout.of_channel(c, [&](int64_t first, int64_t count) {
        const float* numbers = from.read(first, count, room);
#pragma omp simd
        for (int64_t i = 0; i < count; ++i) out[i] = numbers[i] * factor + shift;
        end(first, count, out, room);
      });
    });
  } else {
    layout.in_threads([&](int64_t begin, int64_t last, int64_t) {
      Floats room(layout.room()), line(layout.room());
      float* out = line.data();
      const float *factor = factors.data(), *shift = shifts.data();
      layout.of_rows(begin, last, [&](int64_t first, int64_t rows) {
        const float* numbers = from.read(first, rows * channels, room.data());
        by_rows(rows, channels, [=](int64_t c, int64_t i) {
          out[i] = numbers[i] * factor[c] + shift[c];
        });
        end(first, rows * channels, out, room.data());
      });
    });
  }
  return {y, halves, mean, inverse};
}

// The gradient that reaches the normalization: a sum of two, where the result of ReLU is positive.
class Incoming {
 public:
  Incoming(const at::Tensor& first, const Given& second, const Given& result)
      : first_(first), second_(second), result_(result), read_(chosen()) {}

  // The gradients from a place on; `room` is where they are put, unless they are there as floats.
  const float* read(int64_t from, int64_t count, float* room) const {
    return read_ ? (this->*read_)(from, count, room) : first_.read(from, count, room);
  }

 private:
  enum Kind { NONE, WIDE, NARROW };
  using Read = const float* (Incoming::*)(int64_t, int64_t, float*) const;

  template <Kind A, Kind B, Kind MASK>
  const float* combined(int64_t from, int64_t count, float* room) const {
    const auto of = [from](const Source& s, auto kind) {
      using T = std::conditional_t<kind() == NARROW, Bits, float>;
      return static_cast<const T*>(s.at) + from;
    };
    const auto* a = of(first_, std::integral_constant<Kind, A>());
    const auto* b = of(second_, std::integral_constant<Kind, B>());
    const auto* y = of(result_, std::integral_constant<Kind, MASK>());
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) {
      float g = wide(a[i]);
      if constexpr (B != NONE) g += wide(b[i]);
      if constexpr (MASK != NONE) g = wide(y[i]) <= 0.f ? 0.f : g;
      room[i] = g;
    }
    return room;
  }

  template <Kind A, Kind B>
  Read by_mask() const {
    return !result_ ? (B == NONE ? nullptr : &Incoming::combined<A, B, NONE>)
           : result_.narrow ? &Incoming::combined<A, B, NARROW>
                            : &Incoming::combined<A, B, WIDE>;
  }

  template <Kind A>
  Read by_second() const {
    return !second_         ? by_mask<A, NONE>()
           : second_.narrow ? by_mask<A, NARROW>()
                            : by_mask<A, WIDE>();
  }

  Read chosen() const { return first_.narrow ? by_second<NARROW>() : by_second<WIDE>(); }

  Source first_, second_, result_;
  Read read_;  // none if the first one is all
};

// The gradients by x, in bfloat16 if `in_narrow`, by weight and bias, and by what was added.
Four batch_norm_backward(const at::Tensor& grad, const Given& other, const Given& result,
                         const at::Tensor& x, const Given& weight, const at::Tensor& mean,
                         const at::Tensor& inverse, bool in_narrow, bool of_added) {
  const char* name = "batch_norm_backward";
  const Layout layout = layout_of(name, x);
  const int64_t channels = layout.channels;
  check(name, "x", x, x), check(name, "grad", grad, x), check(name, "other", other, x);
  check(name, "result", result, x);
  check_channels(name, "weight", weight, channels), check_channels(name, "mean", mean, channels);
  check_channels(name, "inverse", inverse, channels);
  auto of_x = made(x, true, in_narrow ? at::kBFloat16 : at::kFloat);
  auto passed = made(x, of_added, at::kFloat);
  auto of_weight = per_channel(x), of_bias = per_channel(x);
  const Source from(x);
  const Incoming incoming(grad, other, result);
  const Target to(of_x), to_passed(passed);
  // the second time it is read from what has been written
  const Incoming again = of_added ? Incoming(passed, {}, {}) : incoming;
  const float *means = mean.const_data_ptr<float>(), *inverses = inverse.const_data_ptr<float>();
  Doubles sums(channels), products(channels);
  Floats factors(channels), slopes(channels), shifts(channels);
  const auto finish = [&](int64_t c) {  // gradient = g factor - (x slope + shift)
    const double count = double(layout.each()), its = inverses[c];
    const double factor = (weight ? weight->const_data_ptr<float>()[c] : 1.f) * its;
    of_weight.mutable_data_ptr<float>()[c] = float(products[c] * its);
    of_bias.mutable_data_ptr<float>()[c] = float(sums[c]);
    const double slope = products[c] / count * its * its * factor;
    factors[c] = float(factor), slopes[c] = float(slope);
    shifts[c] = float(sums[c] / count * factor);
  };
  if (!layout.rows) {
    layout.channels_in_threads([&](int64_t c) {
      float room[PIECE], more[PIECE], numbers[PIECE];
      layout.of_channel(c, [&](int64_t first, int64_t count) {
        const float* g = incoming.read(first, count, room);
        to_passed.write(first, count, g);
        sums[c] += sum_of(g, count);
        products[c] += products_of(g, from.read(first, count, numbers), count, means[c]);
      });
      finish(c);
      const float factor = factors[c], slope = slopes[c], shift = shifts[c], middle = means[c];
      layout.of_channel(c, [&](int64_t first, int64_t count) {
        const float* g = again.read(first, count, room);
        const float* at = from.read(first, count, numbers);
#pragma omp simd
        for (int64_t i = 0; i < count; ++i)
          more[i] = g[i] * factor - ((at[i] - middle) * slope + shift);
        to.write(first, count, more);
      });
    });
    return {of_x, of_weight, of_bias, passed};
  }
  std::vector<Doubles> parts(at::get_num_threads());
  layout.in_threads([&](int64_t begin, int64_t end, int64_t number) {
    Floats room(layout.room()), numbers(layout.room()), line(2 * channels);
    Doubles own(2 * channels);
    float *sum = line.data(), *product = sum + channels;
    layout.of_rows(begin, end, [&](int64_t first, int64_t rows) {
      const int64_t count = rows * channels;
      const float* g = incoming.read(first, count, room.data());
      const float* at = from.read(first, count, numbers.data());
      to_passed.write(first, count, g);
      std::fill(line.begin(), line.end(), 0.f);
      by_rows(rows, channels, [=](int64_t c, int64_t i) {
        sum[c] += g[i];
        product[c] += g[i] * (at[i] - means[c]);
      });
      for (int64_t i = 0; i < 2 * channels; ++i) own[i] += line[i];
    });
    parts[number] = std::move(own);
  });
  for (const Doubles& part : parts)
    for (int64_t c = 0; c < channels && !part.empty(); ++c)
      sums[c] += part[c], products[c] += part[channels + c];
  for (int64_t c = 0; c < channels; ++c) finish(c);
  layout.in_threads([&](int64_t begin, int64_t end, int64_t) {
    Floats room(layout.room()), more(layout.room()), numbers(layout.room());
    float* out = more.data();
    const float *factor = factors.data(), *slope = slopes.data(), *shift = shifts.data();
    layout.of_rows(begin, end, [&](int64_t first, int64_t rows) {
      const int64_t count = rows * channels;
      const float* g = again.read(first, count, room.data());
      const float* at = from.read(first, count, numbers.data());
      by_rows(rows, channels, [=](int64_t c, int64_t i) {
        out[i] = g[i] * factor[c] - ((at[i] - means[c]) * slope[c] + shift[c]);
      });
      to.write(first, count, out);
    });
  });
  return {of_x, of_weight, of_bias, passed};
}

TORCH_LIBRARY_FRAGMENT(lamella, m) {
  m.def("batch_norm(Tensor x, Tensor? weight, Tensor? bias, Tensor? added, float eps, bool relu, "
        "bool in_wide, bool in_narrow) -> (Tensor, Tensor, Tensor, Tensor)");
  m.def("batch_norm_backward(Tensor grad, Tensor? other, Tensor? result, Tensor x, Tensor? weight, "
        "Tensor mean, Tensor inverse, bool in_narrow, bool of_added) "
        "-> (Tensor, Tensor, Tensor, Tensor)");
}
TORCH_LIBRARY_IMPL(lamella, CPU, m) {
  m.impl("batch_norm", batch_norm);
  m.impl("batch_norm_backward", batch_norm_backward);
}

PyModuleDef MODULE = {PyModuleDef_HEAD_INIT, "lamella_batch_norm", nullptr, -1};

}  // namespace

PyMODINIT_FUNC PyInit_lamella_batch_norm() { return PyModule_Create(&MODULE); }
