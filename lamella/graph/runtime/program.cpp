// A recorded graph as a flat list of boxed dispatcher calls, run below autograd.
//
// Values lie in numbered registers. A register is moved out at its last use, so memory is freed
// where Python would free it. `program.py` lowers graphs to this form, and has the same in Python.

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/jit/python/pybind_utils.h>
#include <structmember.h>

namespace py = pybind11;
using c10::IValue;

namespace {

// What an instruction takes: a register, or, if `number` is negative, the constant ~number.
struct Argument {
  int32_t number;
  bool last;  // whether nothing reads the register afterwards
};

struct Instruction {
  enum Kind : uint8_t { Call, TensorList, OptionalList, Item } kind;
  std::optional<c10::OperatorHandle> op;
  std::vector<Argument> arguments;
  std::vector<int32_t> results;  // registers; -1 where nothing reads the result
  int32_t index = 0;             // of Item
};

struct Program {
  std::vector<IValue> constants;
  std::vector<Instruction> instructions;
  std::vector<Argument> results;
  size_t registers = 0, inputs = 0;
  bool shares = false;  // whether inputs are changed, or results lie in their memory

  IValue take(std::vector<IValue>& values, const Argument& a) const {
    if (a.number < 0) return constants[~a.number];
    if (a.last) return std::move(values[a.number]);
    return values[a.number];
  }

  void execute(std::vector<IValue>& values) const {
    torch::jit::Stack stack;
    stack.reserve(32);
    for (const auto& step : instructions) {
      switch (step.kind) {
        case Instruction::Call: {
          for (const auto& a : step.arguments) stack.push_back(take(values, a));
          step.op->callBoxed(&stack);
          for (size_t i = 0; i < step.results.size(); ++i)
            if (step.results[i] >= 0) values[step.results[i]] = std::move(stack[i]);
          stack.clear();
          break;
        }
        case Instruction::TensorList: {
          c10::List<at::Tensor> list;
          list.reserve(step.arguments.size());
          for (const auto& a : step.arguments) list.push_back(take(values, a).toTensor());
          values[step.results[0]] = std::move(list);
          break;
        }
        case Instruction::OptionalList: {
          c10::List<std::optional<at::Tensor>> list;
          list.reserve(step.arguments.size());
          for (const auto& a : step.arguments)
            list.push_back(take(values, a).toOptional<at::Tensor>());
          values[step.results[0]] = std::move(list);
          break;
        }
        case Instruction::Item: {
          IValue item = values[step.arguments[0].number].toTensorList().get(step.index);
          if (step.arguments[0].last) values[step.arguments[0].number] = IValue();
          values[step.results[0]] = std::move(item);
          break;
        }
      }
    }
  }

  void run(std::vector<IValue>& values) const {
    pybind11::gil_scoped_release free;
    if (shares) {  // versions count up, and views know what they are views of
      at::AutoDispatchBelowAutograd below;
      execute(values);
    } else {
      at::AutoDispatchBelowADInplaceOrView below;
      execute(values);
    }
  }
};

const char* const NAME = "lamella.Program";

// program(values): the results of a run, as a list.
PyObject* call(PyObject* self, PyObject* given) {
  HANDLE_TH_ERRORS
  auto* program = static_cast<const Program*>(PyCapsule_GetPointer(self, NAME));
  if (!program) return nullptr;
  TORCH_CHECK_TYPE(PyList_Check(given), "a program takes a list of tensors");
  TORCH_CHECK_VALUE(PyList_GET_SIZE(given) == Py_ssize_t(program->inputs), "a program that takes ",
                    program->inputs, " tensors was given ", PyList_GET_SIZE(given));
  std::vector<IValue> values(program->registers);
  for (size_t i = 0; i < program->inputs; ++i) {
    PyObject* tensor = PyList_GET_ITEM(given, i);
    TORCH_CHECK_TYPE(THPVariable_Check(tensor), "a program takes tensors");
    values[i] = THPVariable_Unpack(tensor);
  }
  program->run(values);
  THPObjectPtr found(PyList_New(Py_ssize_t(program->results.size())));
  if (!found) return nullptr;
  for (size_t i = 0; i < program->results.size(); ++i) {
    PyObject* tensor = THPVariable_Wrap(program->take(values, program->results[i]).toTensor());
    if (!tensor) return nullptr;
    PyList_SET_ITEM(found.get(), i, tensor);
  }
  return found.release();
  END_HANDLE_TH_ERRORS
}

PyMethodDef METHOD = {"program", call, METH_O, "The results of a run of a recorded graph."};

std::vector<Argument> arguments_of(const py::handle& numbers) {
  std::vector<Argument> found;
  for (const auto& item : numbers) {
    const auto code = item.cast<int64_t>();  // twice the register, and 1 at its last use; or ~c
    if (code < 0) found.push_back({int32_t(code), false});
    else found.push_back({int32_t(code >> 1), bool(code & 1)});
  }
  return found;
}

// A whole call of a compiled function: guards on its arguments, what it holds and what it reads,
// then a program. The interpreter's lock is held until all tensors are taken, so nobody changes
// anything in between. A miss gives None; nothing has happened then.
struct Direct {
  struct Form {
    std::vector<int64_t> sizes, strides;
    at::ScalarType type;
    at::Device device;
    c10::DispatchKeySet keys;

    explicit Form(const at::Tensor& x)
        : sizes(x.sizes().vec()), strides(x.strides().vec()), type(x.scalar_type()),
          device(x.device()), keys(x.key_set()) {}
    bool holds(const at::Tensor& x) const {
      return x.sizes() == sizes && x.strides() == strides && x.scalar_type() == type &&
             x.device() == device && x.key_set() == keys && !x.requires_grad();
    }
  };
  struct Source {
    enum Kind : uint8_t { Argument, Parameter, Tensor, Constant } kind;
    size_t number;
  };

  PyTypeObject* type;  // Tensor
  Py_ssize_t offset;   // of its `_raw`
  py::object keep, watch, seen;
  const Program* program;
  std::vector<Form> arguments, forms;          // of arguments, and of the Tensors it holds
  std::vector<std::pair<py::object, py::object>> parameters;  // with the data they had
  std::vector<py::object> tensors;
  std::vector<at::Tensor> constants;
  std::vector<Source> takes;
  size_t result;

  PyObject* raw_of(PyObject* tensor) const {
    return Py_TYPE(tensor) == type
        ? *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(tensor) + offset) : nullptr;
  }

  // What a Tensor holds, if that is of the form and the Tensor has no attributes. Copied: whoever
  // runs while a dict is made may give the Tensor other data.
  at::Tensor found(PyObject* tensor, const Form& form) const {
    PyObject* raw = raw_of(tensor);
    if (!raw || !THPVariable_CheckExact(raw)) return {};
    at::Tensor x = THPVariable_Unpack(raw);
    if (!form.holds(x)) return {};
    py::object own = py::reinterpret_steal<py::object>(PyObject_GenericGetDict(tensor, nullptr));
    return own && PyDict_GET_SIZE(own.ptr()) == 0 ? x : at::Tensor();
  }

  bool take(PyObject* given, std::vector<IValue>& values) const {
    const size_t count = arguments.size();
    if (!PyTuple_Check(given) || size_t(PyTuple_GET_SIZE(given)) != count) return false;
    py::object now = py::reinterpret_steal<py::object>(PyObject_CallNoArgs(watch.ptr()));
    if (!now || PyObject_RichCompareBool(now.ptr(), seen.ptr(), Py_EQ) != 1) return false;
    c10::SmallVector<at::Tensor, 8> raws, held;
    for (size_t i = 0; i < count; ++i) {
      raws.push_back(found(PyTuple_GET_ITEM(given, i), arguments[i]));
      if (!raws[i].defined()) return false;
      for (size_t j = 0; j < i; ++j)
        if (raws[j].is_same(raws[i])) return false;
    }
    for (size_t i = 0; i < tensors.size(); ++i) {
      held.push_back(found(tensors[i].ptr(), forms[i]));
      if (!held[i].defined()) return false;
    }
    static PyObject* const name = PyUnicode_InternFromString("_data");
    for (const auto& [parameter, data] : parameters) {
      py::object own = py::reinterpret_steal<py::object>(PyObject_GetAttr(parameter.ptr(), name));
      if (!own || own.ptr() != data.ptr()) return false;
    }
    for (size_t i = 0; i < takes.size(); ++i) {
      const size_t n = takes[i].number;
      switch (takes[i].kind) {
        case Source::Argument: values[i] = raws[n]; break;
        case Source::Parameter: values[i] = THPVariable_Unpack(parameters[n].second.ptr()); break;
        case Source::Tensor: values[i] = held[n]; break;
        case Source::Constant: values[i] = constants[n]; break;
      }
    }
    return true;
  }
};

const char* const DIRECT = "lamella.Direct";

// direct(args): the Tensor that the call gives, or None.
PyObject* call_directly(PyObject* self, PyObject* given) {
  auto* direct = static_cast<const Direct*>(PyCapsule_GetPointer(self, DIRECT));
  if (!direct) return nullptr;
  try {
    std::vector<IValue> values(direct->program->registers);
    if (direct->take(given, values)) {
      at::AutoGradMode grad(true);  // nothing requires one; some kernels keep less without
      direct->program->run(values);
      PyObject* raw = THPVariable_Wrap(
          direct->program->take(values, direct->program->results[direct->result]).toTensor());
      PyObject* made = raw ? direct->type->tp_alloc(direct->type, 0) : nullptr;
      if (made) {
        *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(made) + direct->offset) = raw;
        return made;
      }
      Py_XDECREF(raw);
    }
  } catch (python_error& error) {
    error.restore();
  } catch (const std::exception&) {  // the long way says what is wrong
  }
  if (PyErr_Occurred()) {
    if (!PyErr_ExceptionMatches(PyExc_Exception)) return nullptr;  // such as an interrupt
    PyErr_Clear();
  }
  Py_RETURN_NONE;
}

PyMethodDef DIRECTLY = {"direct", call_directly, METH_O, "A call of a compiled function, or None."};

// See `direct.py`.
py::object make_direct(const py::type& tensor, const py::object& program, const py::list& arguments,
                       const py::object& watch, const py::object& seen, const py::list& parameters,
                       const py::list& tensors, const py::list& constants,
                       const std::vector<std::pair<int, size_t>>& takes, size_t result) {
  auto made = std::make_unique<Direct>();
  made->type = reinterpret_cast<PyTypeObject*>(tensor.ptr());
  py::object slot = tensor.attr("_raw");
  TORCH_CHECK_TYPE(Py_TYPE(slot.ptr()) == &PyMemberDescr_Type, "`_raw` is no slot");
  made->offset = reinterpret_cast<PyMemberDescrObject*>(slot.ptr())->d_member->offset;
  made->keep = py::make_tuple(tensor, program);
  made->watch = watch;
  made->seen = seen;
  TORCH_CHECK_TYPE(PyCFunction_Check(program.ptr()), "no program");
  made->program =
      static_cast<const Program*>(PyCapsule_GetPointer(PyCFunction_GET_SELF(program.ptr()), NAME));
  if (!made->program) throw py::error_already_set();
  for (const auto& raw : arguments) made->arguments.emplace_back(raw.cast<at::Tensor>());
  for (const auto& each : parameters)
    made->parameters.emplace_back(py::reinterpret_borrow<py::object>(each), each.attr("_data"));
  for (const auto& each : tensors) {
    made->tensors.push_back(py::reinterpret_borrow<py::object>(each));
    made->forms.emplace_back(each.attr("_raw").cast<at::Tensor>());
  }
  for (const auto& raw : constants) made->constants.push_back(raw.cast<at::Tensor>());
  for (const auto& [kind, number] : takes)
    made->takes.push_back({Direct::Source::Kind(kind), number});
  made->result = result;
  py::capsule owner(made.get(), DIRECT, [](PyObject* capsule) {
    delete static_cast<Direct*>(PyCapsule_GetPointer(capsule, DIRECT));
  });
  made.release();
  return py::reinterpret_steal<py::object>(PyCFunction_New(&DIRECTLY, owner.ptr()));
}

// A function that runs a program; see `program.py` for what describes one.
py::object make(const py::list& described, const py::list& results, size_t registers,
                size_t inputs, bool shares) {
  auto program = std::make_unique<Program>();
  program->registers = registers;
  program->inputs = inputs;
  program->shares = shares;
  torch::jit::ToIValueAllowNumbersAsTensors numbers(true);
  for (const auto& each : described) {
    const auto parts = each.cast<py::tuple>();  // kind, name, overload, arguments, constants, results
    Instruction step;
    const auto kind = parts[0].cast<std::string>();
    step.arguments = arguments_of(parts[3]);
    step.results = parts[5].cast<std::vector<int32_t>>();
    if (kind == "call") {
      step.kind = Instruction::Call;
      const auto name = parts[1].cast<std::string>(), overload = parts[2].cast<std::string>();
      step.op = c10::Dispatcher::singleton().findSchemaOrThrow(name.c_str(), overload.c_str());
      const auto& formal = step.op->schema().arguments();
      TORCH_CHECK(formal.size() == step.arguments.size(), name, " takes other arguments");
      const auto constants = parts[4].cast<py::list>();
      for (size_t i = 0; i < formal.size(); ++i) {
        auto& argument = step.arguments[i];
        if (argument.number >= 0) continue;
        const auto value = constants[~argument.number];
        argument.number = ~int32_t(program->constants.size());
        program->constants.push_back(torch::jit::toIValue(value, formal[i].type()));
      }
    } else if (kind == "item") {
      step.kind = Instruction::Item;
      step.index = parts[4].cast<int32_t>();
    } else {
      step.kind = kind == "list" ? Instruction::TensorList : Instruction::OptionalList;
      for (auto& argument : step.arguments)
        if (argument.number < 0) {  // None
          argument.number = ~int32_t(program->constants.size());
          program->constants.emplace_back();
        }
    }
    program->instructions.push_back(std::move(step));
  }
  program->results = arguments_of(results);
  py::capsule owner(program.get(), NAME, [](PyObject* capsule) {
    delete static_cast<Program*>(PyCapsule_GetPointer(capsule, NAME));
  });
  program.release();
  return py::reinterpret_steal<py::object>(PyCFunction_New(&METHOD, owner.ptr()));
}

}  // namespace

PYBIND11_MODULE(lamella_program, module) {
  module.def("make", &make);
  module.def("make_direct", &make_direct);
}
