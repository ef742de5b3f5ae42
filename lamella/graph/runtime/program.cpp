// A recorded graph as a flat list of boxed dispatcher calls, run below autograd.
//
// Values lie in numbered registers. A register is moved out at its last use, so memory is freed
// where Python would free it. `program.py` lowers graphs to this form, and has the same in Python.

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/jit/python/pybind_utils.h>

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

PYBIND11_MODULE(lamella_program, module) { module.def("make", &make); }
