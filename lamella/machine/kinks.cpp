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

// `slopes`: below, at the lower bound, between (times x, and what is added), at the upper bound,
// above, and of NaN.
at::Tensor kinks_backward(const at::Tensor& grad, const at::Tensor& x, double low, double high,
                          at::ArrayRef<double> slopes) {
  TORCH_CHECK(x.scalar_type() == at::kFloat && grad.scalar_type() == at::kFloat && x.is_cpu() &&
                  grad.is_cpu() && x.is_contiguous() && grad.sizes() == x.sizes() &&
                  slopes.size() == 7,
              "kinks_backward: x and grad must be float32, of one shape, and x contiguous");
  const auto strides = grad.strides();
  const bool one = std::all_of(strides.begin(), strides.end(), [](int64_t s) { return s == 0; });
  const at::Tensor given = one ? grad : grad.contiguous();
  auto out = at::empty_like(x);
  const float *from = x.const_data_ptr<float>(), *by = given.const_data_ptr<float>();
  auto* to = out.mutable_data_ptr<float>();
  const auto first = float(low), last = float(high), below = float(slopes[0]),
             at_first = float(slopes[1]), factor = float(slopes[2]), added = float(slopes[3]),
             at_last = float(slopes[4]), above = float(slopes[5]), none = float(slopes[6]);
  const auto part = [=](int64_t begin, int64_t end, auto gradient) {
#pragma omp simd
    for (int64_t i = begin; i < end; ++i) {
      const float v = from[i];
      float slope = v * factor + added;
      slope = v < first ? below : slope;
      slope = v > last ? above : slope;
      slope = v == first ? at_first : slope;
      slope = v == last ? at_last : slope;
      slope = v != v ? none : slope;
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

struct Pieces : torch::CustomClassHolder {
  double low, high;
  std::array<double, 7> slopes;
};

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
    if (at::GradMode::is_enabled() || is_wrapped(grad)) {
      found[0] = grad * slope(x, pieces);
      return found;
    }
    static const auto kernel = c10::Dispatcher::singleton()
                                   .findSchemaOrThrow("lamella::kinks_backward", "")
                                   .typed<decltype(kinks_backward)>();
    found[0] = kernel.call(grad, x, pieces.low, pieces.high, pieces.slopes);
    return found;
  }

  // The derivative, which has derivatives itself: at the bounds those of the piece between them.
  static at::Tensor slope(const at::Tensor& x, const Pieces& pieces) {
    const auto& slopes = pieces.slopes;
    const at::Tensor middle = x * slopes[2] + slopes[3], moved = middle - middle.detach();
    at::Tensor found = at::where(x < pieces.low, slopes[0], middle);
    found = at::where(x > pieces.high, slopes[5], found);
    found = at::where(x == pieces.low, moved + slopes[1], found);
    found = at::where(x == pieces.high, moved + slopes[4], found);
    return at::where(x != x, slopes[6], found);
  }
};

// kinked(x, y, low, high, slopes): y, on the tape as a function of x.
PyObject* kinked(PyObject*, PyObject* const* given, Py_ssize_t count) {
  HANDLE_TH_ERRORS
  TORCH_CHECK(count == 5 && THPVariable_Check(given[0]) && THPVariable_Check(given[1]) &&
                  PyTuple_CheckExact(given[4]) && PyTuple_GET_SIZE(given[4]) == 7,
              "kinked: expects x, y, two bounds and seven slopes");
  const auto pieces = c10::make_intrusive<Pieces>();
  pieces->low = PyFloat_AsDouble(given[2]), pieces->high = PyFloat_AsDouble(given[3]);
  for (int i = 0; i < 7; ++i)
    pieces->slopes[i] = PyFloat_AsDouble(PyTuple_GET_ITEM(given[4], i));
  if (PyErr_Occurred()) return nullptr;
  return THPVariable_Wrap(
      Kinked::apply(THPVariable_Unpack(given[0]), Made{THPVariable_Unpack(given[1])}, pieces));
  END_HANDLE_TH_ERRORS
}

TORCH_LIBRARY_FRAGMENT(lamella, m) {
  m.def("kinks_backward(Tensor grad, Tensor x, float low, float high, float[] slopes) -> Tensor");
}
TORCH_LIBRARY_IMPL(lamella, CPU, m) { m.impl("kinks_backward", kinks_backward); }

PyMethodDef METHODS[] = {{"kinked", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(kinked)),
                          METH_FASTCALL, nullptr},
                         {nullptr, nullptr, 0, nullptr}};
PyModuleDef MODULE = {PyModuleDef_HEAD_INIT, "lamella_kinks", nullptr, -1, METHODS};

}  // namespace

PyMODINIT_FUNC PyInit_lamella_kinks() { return PyModule_Create(&MODULE); }
