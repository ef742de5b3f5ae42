// Convolutions with 3 x 3 windows by Winograd's minimal filtering, and their gradients.
//
// Each 2 x 2 tile of a result is computed from a 4 x 4 tile of the input with 16 multiplications
// instead of 36 (Lavin and Gray, 2016, "Fast Algorithms for Convolutional Neural Networks",
// F(2x2, 3x3)). These are products of matrices, one for each place in a tile. Some tiles at a time
// are transformed, multiplied and transformed back while they are in a cache. Products add in
// float32; in bfloat16 what they multiply is rounded once more than in a direct sum.
//
// Images are (N, C, H, W) with the channels last in memory; so are weights (K, C, 3, 3).

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <Python.h>
#include <torch/library.h>

#include <algorithm>
#include <vector>

#include "numbers.h"
#include "products.h"

namespace {

constexpr int64_t PLACES = 16, SIDE = 4;       // of a tile of the input
constexpr int64_t LEAST_TILES = 64;            // that are computed together
constexpr int64_t CACHE = int64_t{1} << 18;    // bytes of transformed input that stay in a cache
constexpr int64_t ASIDE = LANES;               // words between places, which no two share sets then

// Words that aren't set yet.
struct Buffer {
  at::Tensor memory;

  explicit Buffer(int64_t size) : memory(at::empty({size}, at::kInt)) {}

  uint32_t* data() const { return static_cast<uint32_t*>(memory.mutable_data_ptr()); }
  float* floats() const { return static_cast<float*>(memory.mutable_data_ptr()); }
};

template <typename T>
inline void put(T* to, Floats x) {
  if constexpr (PAIR<T> == 1) write(to, x);
  else write(to, narrowed(x));
}

// The tiles that cover the result of a convolution.
struct Tiles {
  int64_t images, height, width, above, left;  // of the input, and its padding
  int64_t rows, columns, down, across;         // of the result, and tiles of it

  Tiles(const at::Tensor& x, int64_t above, int64_t left)
      : images(x.size(0)), height(x.size(2)), width(x.size(3)), above(above), left(left),
        rows(height + 2 * above - 2), columns(width + 2 * left - 2), down((rows + 1) / 2),
        across((columns + 1) / 2) {}

  int64_t count() const { return images * down * across; }
};

// Where a tile lies in images of a certain size: pixels outside of them are left out.
struct Place {
  int64_t image, row, column;

  // The number of a pixel, or -1.
  int64_t pixel(int64_t i, int64_t j, int64_t height, int64_t width) const {
    const int64_t r = row + i, c = column + j;
    return r < 0 || r >= height || c < 0 || c >= width ? -1 : (image * height + r) * width + c;
  }
};

inline Place of_result(const Tiles& tiles, int64_t number) {
  const int64_t each = tiles.down * tiles.across, own = number % each;
  return {number / each, own / tiles.across * 2, own % tiles.across * 2};
}

inline Place of_input(const Tiles& tiles, int64_t number) {
  const Place found = of_result(tiles, number);
  return {found.image, found.row - tiles.above, found.column - tiles.left};
}

// An image's numbers, and zeros in the place of a pixel outside of it.
template <typename T>
struct Image {
  const T* at;
  int64_t channels, height, width;
  std::vector<T> zeros;

  Image(const at::Tensor& x)
      : at(static_cast<const T*>(x.const_data_ptr())), channels(x.size(1)), height(x.size(2)),
        width(x.size(3)), zeros(channels) {}

  const T* pixel(const Place& place, int64_t i, int64_t j) const {
    const int64_t number = place.pixel(i, j, height, width);
    return number < 0 ? zeros.data() : at + number * channels;
  }
};

// Pixels of a tile from one of its channels on.
template <typename T, int SIZE>
struct Pixels {
  const T* at[SIZE * SIZE];

  Pixels(const Image<T>& image, const Place& place) {
    for (int i = 0; i < SIZE; ++i)
      for (int j = 0; j < SIZE; ++j) at[i * SIZE + j] = image.pixel(place, i, j);
  }

  Floats read(int number, int64_t channel) const { return widened(at[number] + channel); }
};

// The transformations of one dimension; `of(i)` gives an element, `to(i, value)` takes one.
template <typename Of, typename To>
inline void input_line(Of of, To to) {
  const Floats a = of(0), b = of(1), c = of(2), d = of(3);
  to(0, a - c), to(1, b + c), to(2, c - b), to(3, b - d);
}

template <typename Of, typename To>
inline void weight_line(Of of, To to) {
  const Floats a = of(0), b = of(1), c = of(2), outer = (a + c) * 0.5f, inner = b * 0.5f;
  to(0, a), to(1, outer + inner), to(2, outer - inner), to(3, c);
}

template <typename Of, typename To>
inline void result_line(Of of, To to) {
  const Floats a = of(0), b = of(1), c = of(2), d = of(3);
  to(0, a + b + c), to(1, b - c - d);
}

// The transposes of the last two.
template <typename Of, typename To>
inline void gradient_line(Of of, To to) {
  const Floats a = of(0), b = of(1);
  to(0, a), to(1, a + b), to(2, a - b), to(3, -b);
}

template <typename Of, typename To>
inline void weight_gradient_line(Of of, To to) {
  const Floats a = of(0), b = of(1), c = of(2), d = of(3);
  to(0, a + (b + c) * 0.5f), to(1, (b - c) * 0.5f), to(2, (b + c) * 0.5f + d);
}

// Both dimensions of a square of FROM x FROM numbers, which becomes one of TO x TO.
template <int FROM, int TO, typename Line, typename Of, typename To>
inline void transform(Line line, Of of, To to) {
  Floats half[FROM][TO];
#pragma GCC unroll 4
  for (int i = 0; i < FROM; ++i)
    line([&](int j) { return of(i * FROM + j); }, [&](int j, Floats x) { half[i][j] = x; });
#pragma GCC unroll 4
  for (int j = 0; j < TO; ++j)
    line([&](int i) { return half[i][j]; }, [&](int i, Floats x) { to(i * TO + j, x); });
}

#define LINE(name) [](auto of, auto to) { name(of, to); }

// Weights as products take them, in pieces of STEP columns: (K / STEP, 16, C / PAIR, STEP) words;
// for the gradient by the input the windows are turned, and K and C change places.
template <typename T>
Buffer of_weights(const at::Tensor& weight, bool turned) {
  const int64_t outputs = weight.size(0), inputs = weight.size(1);
  const int64_t summed = (turned ? outputs : inputs) / PAIR<T>;
  const T* from = static_cast<const T*>(weight.const_data_ptr());
  Buffer found(PLACES * summed * (turned ? inputs : outputs));
  const auto at = [&](int64_t place, int64_t word, int64_t column) {
    return found.data() + ((column / STEP * PLACES + place) * summed + word) * STEP + column % STEP;
  };
  const auto turn = [](int64_t i) { return i == 0 ? 3 : i == 3 ? 0 : i; };
  at::parallel_for(0, outputs / LANES, 1, [&](int64_t begin, int64_t end) {
    alignas(64) T room[PLACES][LANES][LANES * 2];
    for (int64_t k = begin * LANES; k < end * LANES; k += LANES)
      for (int64_t c = 0; c < inputs; c += LANES * PAIR<T>) {
        for (int64_t r = 0; r < LANES; ++r)
          for (int64_t l = 0; l < LANES * PAIR<T>; l += LANES)
            transform<3, 4>(
                LINE(weight_line),
                [&](int i) { return widened(from + ((k + r) * 9 + i) * inputs + c + l); },
                [&](int i, Floats x) { put(&room[i][r][l], x); });
        for (int64_t p = 0; p < PLACES; ++p) {
          if (turned) {
            const int64_t place = turn(p / SIDE) * SIDE + turn(p % SIDE);
            for (int64_t r = 0; r < LANES; r += PAIR<T>)
              for (int64_t l = 0; l < LANES * PAIR<T>; l += LANES) {
                uint32_t* to = at(place, (k + r) / PAIR<T>, c + l);
                if constexpr (PAIR<T> == 1) write(to, read<Words>(&room[p][r][l]));
                else write(to, in_pairs(read<Halves>(&room[p][r][l]), read<Halves>(&room[p][r + 1][l])));
              }
          } else {
            for (int64_t w = 0; w < LANES; ++w) {
              uint32_t line[LANES];
              for (int64_t r = 0; r < LANES; ++r)
                std::memcpy(line + r, &room[p][r][w * PAIR<T>], sizeof(uint32_t));
              std::memcpy(at(p, c / PAIR<T> + w, k), line, sizeof line);
            }
          }
        }
      }
  });
  return found;
}

template <typename T>
void convolve(const at::Tensor& x, const Buffer& weights, const Tiles& tiles, at::Tensor& y) {
  const int64_t channels = x.size(1), outputs = y.size(1), words = channels / PAIR<T>;
  const Image<T> image(x);
  T* to = static_cast<T*>(y.mutable_data_ptr());
  const int64_t fit = CACHE / (PLACES * channels * int64_t(sizeof(T))) / DOWN * DOWN;
  const int64_t most = std::max(fit, LEAST_TILES), blocks = (tiles.count() + most - 1) / most;
  const int64_t apart = most * words + ASIDE, made_apart = most * STEP + ASIDE;
  at::parallel_for(0, blocks, 1, [&](int64_t begin, int64_t end) {
    const Buffer seen(PLACES * apart), made(PLACES * made_apart);
    std::vector<T> outside(STEP);  // takes what no pixel of the result takes
    std::fill_n(seen.data(), PLACES * apart, 0);
    for (int64_t first = begin * most; first < std::min(end * most, tiles.count()); first += most) {
      const int64_t count = std::min(most, tiles.count() - first);
      const int64_t lines = (count + DOWN - 1) / DOWN * DOWN;
      for (int64_t t = 0; t < count; ++t) {
        const Pixels<T, 4> pixels(image, of_input(tiles, first + t));
        T* line = reinterpret_cast<T*>(seen.data() + t * words);
        for (int64_t c = 0; c < channels; c += LANES)
          transform<4, 4>(LINE(input_line), [&](int i) { return pixels.read(i, c); },
                          [&](int i, Floats v) { put(line + i * apart * PAIR<T> + c, v); });
      }
      for (int64_t k = 0; k < outputs; k += STEP) {
        for (int64_t p = 0; p < PLACES; ++p)
          product<T>({seen.data() + p * apart, words, 1},
                     weights.data() + (k / STEP * PLACES + p) * words * STEP, STEP,
                     made.floats() + p * made_apart, lines, STEP, words, false);
        for (int64_t t = 0; t < count; ++t) {
          const Place place = of_result(tiles, first + t);
          const float* line = made.floats() + t * STEP;
          T* pixels[4];
          for (int i = 0; i < 4; ++i) {
            const int64_t pixel = place.pixel(i / 2, i % 2, tiles.rows, tiles.columns);
            pixels[i] = pixel < 0 ? outside.data() : to + pixel * outputs + k;
          }
          for (int64_t l = 0; l < STEP; l += LANES)
            transform<4, 2>(LINE(result_line),
                            [&](int i) { return read<Floats>(line + i * made_apart + l); },
                            [&](int i, Floats v) { put(pixels[i] + l, v); });
        }
      }
    }
  });
}

// One or two tiles, side by side in words, as the sum over tiles takes them.
template <typename T, int FROM, typename Line>
void in_words(Line line, const Pixels<T, FROM>* tiles, int64_t channel, uint32_t* to, int64_t apart) {
  Floats found[PAIR<T>][PLACES];
  for (int64_t n = 0; n < PAIR<T>; ++n)
    transform<FROM, 4>(line, [&](int i) { return tiles[n].read(i, channel); },
                       [&](int i, Floats v) { found[n][i] = v; });
  for (int64_t p = 0; p < PLACES; ++p)
    if constexpr (PAIR<T> == 1) write(to + p * apart, found[0][p]);
    else write(to + p * apart, in_pairs(narrowed(found[0][p]), narrowed(found[PAIR<T> - 1][p])));
}

template <typename T>
void sum_weights(const at::Tensor& gradient, const at::Tensor& x, const Tiles& tiles,
                 at::Tensor& found) {
  const int64_t channels = x.size(1), outputs = gradient.size(1), size = outputs * channels + ASIDE;
  const Image<T> image(x), by(gradient);
  const Buffer sums(PLACES * size);  // for each place (C / STEP, K, STEP)
  // the larger the sums, the more tiles are added to them at a time
  const int64_t bytes = 2 * std::max(CACHE, PLACES * size * int64_t(sizeof(float)));
  const int64_t fit = bytes / (PLACES * (channels + outputs) * int64_t(sizeof(T)));
  const int64_t most = (std::min(std::max(fit, LEAST_TILES), tiles.count()) + 1) / 2 * 2;
  const int64_t lines = most / PAIR<T>;
  const int64_t apart = lines * channels + ASIDE, share_apart = lines * outputs + ASIDE;
  const Buffer seen(PLACES * apart), shares(PLACES * share_apart);
  for (int64_t first = 0; first < tiles.count(); first += most) {
    const int64_t count = (std::min(most, tiles.count() - first) + PAIR<T> - 1) / PAIR<T>;
    at::parallel_for(0, count, 16, [&](int64_t begin, int64_t end) {
      for (int64_t w = begin; w < end; ++w) {
        const auto place = [&](auto of, int64_t number, const Image<T>& in) {
          const Place outside{0, in.height, in.width};
          return number < tiles.count() ? of(tiles, number) : outside;
        };
        const int64_t a = first + w * PAIR<T>, b = a + PAIR<T> - 1;
        const Pixels<T, 4> its[] = {{image, place(of_input, a, image)},
                                    {image, place(of_input, b, image)}};
        const Pixels<T, 2> results[] = {{by, place(of_result, a, by)}, {by, place(of_result, b, by)}};
        for (int64_t c = 0; c < channels; c += LANES)
          in_words<T>(LINE(input_line), its, c,
                      seen.data() + (c / STEP * lines + w) * STEP + c % STEP, apart);
        for (int64_t k = 0; k < outputs; k += LANES)
          in_words<T>(LINE(gradient_line), results, k, shares.data() + w * outputs + k, share_apart);
      }
    });
    at::parallel_for(0, PLACES, 1, [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p)
        for (int64_t c = 0; c < channels; c += STEP)
          product<T>({shares.data() + p * share_apart, 1, outputs},
                     seen.data() + p * apart + c * lines, STEP, sums.floats() + p * size + c * outputs,
                     outputs, STEP, count, first > 0);
    });
  }
  T* to = static_cast<T*>(found.mutable_data_ptr());
  at::parallel_for(0, outputs, 8, [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k)
      for (int64_t c = 0; c < channels; c += LANES) {
        const float* at = sums.floats() + c / STEP * STEP * outputs + k * STEP + c % STEP;
        transform<4, 3>(LINE(weight_gradient_line),
                        [&](int i) { return read<Floats>(at + i * size); },
                        [&](int i, Floats v) { put(to + (k * 9 + i) * channels + c, v); });
      }
  });
}

void check(const char* name, const at::Tensor& x, const at::Tensor& other) {
  TORCH_CHECK(x.dim() == 4 && other.dim() == 4 && x.is_cpu() && other.is_cpu() &&
                  x.scalar_type() == other.scalar_type() &&
                  (x.scalar_type() == at::kFloat || x.scalar_type() == at::kBFloat16) &&
                  x.size(1) % STEP == 0 && other.size(1) % STEP == 0 && other.size(0) > 0,
              name, ": the arguments must have four dimensions, float32 or bfloat16, and multiples of ",
              STEP, " channels");
}

at::Tensor last(const at::Tensor& x) { return x.contiguous(at::MemoryFormat::ChannelsLast); }

at::Tensor made(const at::Tensor& like, at::IntArrayRef sizes) {
  return at::empty(sizes, like.options(), at::MemoryFormat::ChannelsLast);
}

template <typename F>
void by_type(const at::Tensor& x, F run) {
  if (x.scalar_type() == at::kFloat) run(float{});
  else run(Bits{});
}

// The convolution; or, of the gradient by its result, the gradient by its input.
at::Tensor winograd(const at::Tensor& x, const at::Tensor& weight, int64_t above, int64_t left,
                    bool backward) {
  check("winograd", x, weight);
  const int64_t inputs = weight.size(backward ? 0 : 1), outputs = weight.size(backward ? 1 : 0);
  if (backward) above = 2 - above, left = 2 - left;
  TORCH_CHECK(x.size(1) == inputs && outputs % STEP == 0 && weight.size(2) == 3 &&
                  weight.size(3) == 3 && above >= 0 && left >= 0 && x.size(2) + 2 * above > 2 &&
                  x.size(3) + 2 * left > 2,
              "winograd: weights must be (K, C, 3, 3), and the result not empty");
  const Tiles tiles(x, above, left);
  at::Tensor y = made(x, {x.size(0), outputs, tiles.rows, tiles.columns});
  by_type(x, [&](auto type) {
    using T = decltype(type);
    convolve<T>(last(x), of_weights<T>(last(weight), backward), tiles, y);
  });
  return y;
}

// The gradient by the weights.
at::Tensor winograd_weights(const at::Tensor& gradient, const at::Tensor& x, int64_t above,
                            int64_t left) {
  check("winograd_weights", gradient, x);
  const Tiles tiles(x, above, left);
  TORCH_CHECK(gradient.size(0) == tiles.images && gradient.size(2) == tiles.rows &&
                  gradient.size(3) == tiles.columns,
              "winograd_weights: the gradient must be (N, K, H + 2 above - 2, W + 2 left - 2)");
  at::Tensor found = made(x, {gradient.size(1), x.size(1), 3, 3});
  by_type(x, [&](auto type) {
    sum_weights<decltype(type)>(last(gradient), last(x), tiles, found);
  });
  return found;
}

TORCH_LIBRARY_FRAGMENT(lamella, m) {
  m.def("winograd(Tensor x, Tensor weight, int above, int left, bool backward) -> Tensor");
  m.def("winograd_weights(Tensor gradient, Tensor x, int above, int left) -> Tensor");
}
TORCH_LIBRARY_IMPL(lamella, CPU, m) {
  m.impl("winograd", winograd);
  m.impl("winograd_weights", winograd_weights);
}

PyModuleDef MODULE = {PyModuleDef_HEAD_INIT, "lamella_winograd", nullptr, -1};

}  // namespace

PyMODINIT_FUNC PyInit_lamella_winograd() { return PyModule_Create(&MODULE); }
