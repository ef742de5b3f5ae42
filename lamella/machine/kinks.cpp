// A gradient times the derivative of a function of three pieces, in one pass: below a bound, between
// two bounds, where the derivative may be linear, and above. At each bound it has a value of its own.
// And the node of the tape that computes it: one in Python takes as long as ten small kernels.

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <Python.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/custom_class.h>
#include <torch/library.h>

#include <algorithm>
#include <array>

namespace {

constexpr int64_t WORTH = 1 << 15;  // numbers for which a thread is worth starting

// The derivative of a function; `Pieces` in kinks.py says what each number is.
struct Pieces : torch::CustomClassHolder {
  double low, high, below, at_low, factor, added, at_high, above, of_nan;

  explicit Pieces(at::ArrayRef<double> given)
      : low(given[0]), high(given[1]), below(given[2]), at_low(given[3]), factor(given[4]),
        added(given[5]), at_high(given[6]), above(given[7]), of_nan(given[8]) {}

  std::array<double, 9> numbers() const {
    return {low, high, below, at_low, factor, added, at_high, above, of_nan};
  }
};

at::Tensor kinks_backward(const at::Tensor& grad, const at::Tensor& x,
                          at::ArrayRef<double> pieces) {
  TORCH_CHECK(x.scalar_type() == at::kFloat && grad.scalar_type() == at::kFloat && x.is_cpu() &&
                  grad.is_cpu() && x.is_contiguous() && grad.sizes() == x.sizes() &&
                  pieces.size() == 9,
              "kinks_backward: x and grad must be float32, of one shape, and x contiguous");
  const auto strides = grad.strides();
  const bool one = std::all_of(strides.begin(), strides.end(), [](int64_t s) { return s == 0; });
  const at::Tensor given = one ? grad : grad.contiguous();
  auto out = at::empty_like(x);
  const float *from = x.const_data_ptr<float>(), *by = given.const_data_ptr<float>();
  auto* to = out.mutable_data_ptr<float>();
  const Pieces its(pieces);
  const auto low = float(its.low), high = float(its.high), below = float(its.below),
             at_low = float(its.at_low), factor = float(its.factor), added = float(its.added),
             at_high = float(its.at_high), above = float(its.above), of_nan = float(its.of_nan);
  const auto part = [=](int64_t begin, int64_t end, auto gradient) {
#pragma omp simd
    for (int64_t i = begin; i < end; ++i) {
      const float v = from[i];
      float slope = v * factor + added;
      slope = v < low ? below : slope;
      slope = v > high ? above : slope;
      slope = v == low ? at_low : slope;
      slope = v == high ? at_high : slope;
      slope = v != v ? of_nan : slope;
      to[i] = gradient(i) * slope;
    }
  };
  at::parallel_for(0, x.numel(), WORTH, [&](int64_t begin, int64_t end) {
    if (const float g = one && x.numel() ? *by : 0.f; one)
      part(begin, end, [g](int64_t) { return g; });
    else
      part(begin, end, [by](int64_t i) { return by[i]; });
  });
  return out;
}

// Whether a gradient is one of a transformation, which has rules for PyTorch's kernels only.
bool is_wrapped(const at::Tensor& grad) {
  return grad.key_set().has_any(c10::DispatchKeySet(
      {c10::DispatchKey::FuncTorchBatched, c10::DispatchKey::FuncTorchGradWrapper,
       c10::DispatchKey::Batched, c10::DispatchKey::Python}));
}

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct Made {  // no input to the tape
  at::Tensor value;
};

// Notes on the tape that something is a function of x, with the derivative of these pieces.
struct Kinked : torch::autograd::Function<Kinked> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const Made& made,
                            const c10::intrusive_ptr<Pieces>& pieces) {
    context->save_for_backward({x});
    context->set_materialize_grads(false);
    context->saved_data["pieces"] = c10::IValue::make_capsule(pieces);
    return made.value;
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    const at::Tensor& grad = grads[0];
    variable_list found(3);
    if (!grad.defined()) return found;
    const at::Tensor x = context->get_saved_variables()[0];
    const auto held = context->saved_data["pieces"].toCapsule();
    const auto& pieces = static_cast<const Pieces&>(*held);
    found[0] = at::GradMode::is_enabled() || is_wrapped(grad) ? grad * slope(x, pieces)
                                                              : times_slope(grad, x, pieces);
    return found;
  }

  static at::Tensor times_slope(const at::Tensor& grad, const at::Tensor& x, const Pieces& pieces) {
    static const auto kernel = c10::Dispatcher::singleton()
                                   .findSchemaOrThrow("lamella::kinks_backward", "")
                                   .typed<decltype(kinks_backward)>();
    return kernel.call(grad, x, pieces.numbers());
  }

  // The derivative, which has a derivative itself: at a bound that of the middle piece.
  static at::Tensor slope(const at::Tensor& x, const Pieces& pieces) {
    const at::Tensor plain = x.detach();
    const at::Tensor found =
        times_slope(at::ones({}, plain.options()).expand_as(plain), plain, pieces);
    if (pieces.factor == 0) return found;
    const at::Tensor middle = plain.ge(pieces.low).logical_and_(plain.le(pieces.high));
    const at::Tensor moved = at::where(middle, x, 0.) * pieces.factor;
    return found + (moved - moved.detach());
  }
};

// kinked(x, y, pieces): y, on the tape as a function of x.
PyObject* kinked(PyObject*, PyObject* const* given, Py_ssize_t count) {
  HANDLE_TH_ERRORS
  TORCH_CHECK(count == 3 && THPVariable_Check(given[0]) && THPVariable_Check(given[1]) &&
                  PyTuple_Check(given[2]) && PyTuple_GET_SIZE(given[2]) == 9,
              "kinked: expects x, y and the nine numbers of the pieces");
  std::array<double, 9> numbers;
  for (int i = 0; i < 9; ++i) numbers[i] = PyFloat_AsDouble(PyTuple_GET_ITEM(given[2], i));
  if (PyErr_Occurred()) return nullptr;
  return THPVariable_Wrap(Kinked::apply(THPVariable_Unpack(given[0]),
                                        Made{THPVariable_Unpack(given[1])},
                                        c10::make_intrusive<Pieces>(numbers)));
  END_HANDLE_TH_ERRORS
}

TORCH_LIBRARY_FRAGMENT(lamella, m) {
  m.def("kinks_backward(Tensor grad, Tensor x, float[] pieces) -> Tensor");
}
TORCH_LIBRARY_IMPL(lamella, CPU, m) { m.impl("kinks_backward", kinks_backward); }

PyMethodDef METHODS[] = {{"kinked", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(kinked)),
                          METH_FASTCALL, nullptr},
                         {nullptr, nullptr, 0, nullptr}};
PyModuleDef MODULE = {PyModuleDef_HEAD_INIT, "lamella_kinks", nullptr, -1, METHODS};

}  // namespace

PyMODINIT_FUNC PyInit_lamella_kinks() { return PyModule_Create(&MODULE); }
