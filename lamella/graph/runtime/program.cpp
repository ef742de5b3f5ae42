// A recorded graph as a flat list of boxed dispatcher calls, run below autograd.
//
// Values lie in numbered registers. A register is moved out at its last use, so memory is freed
// where Python would free it. `program.py` lowers graphs to this form, and has the same in Python.
// `Direct` is a whole call of a compiled function around such a list; see `direct.py`.

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/jit/python/pybind_utils.h>
#include <structmember.h>

#include <cmath>
#include <string>
#include <unordered_map>

namespace py = pybind11;
using c10::IValue;

namespace {

// What an instruction takes: a register, or, if `number` is negative, the constant ~number.
struct Argument {
  int32_t number;
  bool last;  // whether nothing reads the register afterwards
};

struct Loop;

// Small, since a long Python loop has tens of thousands.
struct Instruction {
  enum Kind : uint8_t { Call, TensorList, OptionalList, Item, Repeat } kind;
  uint32_t index = 0;  // of Item; else which operator or loop
  uint32_t arguments, argument_count, results, result_count;  // where the program has them
};

struct Program {
  std::vector<IValue> constants;
  std::vector<c10::OperatorHandle> operators;
  std::vector<std::shared_ptr<const Loop>> loops;
  std::vector<Instruction> instructions;
  std::vector<Argument> all_arguments;
  std::vector<int32_t> all_results;  // registers; -1 where nothing reads the result
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
      const c10::ArrayRef<Argument> arguments(
          all_arguments.data() + step.arguments, step.argument_count);
      const int32_t* made = all_results.data() + step.results;
      switch (step.kind) {
        case Instruction::Call: {
          for (const auto& a : arguments) stack.push_back(take(values, a));
          operators[step.index].callBoxed(&stack);
          for (size_t i = 0; i < step.result_count; ++i)
            if (made[i] >= 0) values[made[i]] = std::move(stack[i]);
          stack.clear();
          break;
        }
        case Instruction::TensorList: {
          c10::List<at::Tensor> list;
          list.reserve(arguments.size());
          for (const auto& a : arguments) list.push_back(take(values, a).toTensor());
          values[made[0]] = std::move(list);
          break;
        }
        case Instruction::OptionalList: {
          c10::List<std::optional<at::Tensor>> list;
          list.reserve(arguments.size());
          for (const auto& a : arguments)
            list.push_back(take(values, a).toOptional<at::Tensor>());
          values[made[0]] = std::move(list);
          break;
        }
        case Instruction::Item: {
          IValue item = values[arguments[0].number].toTensorList().get(step.index);
          if (arguments[0].last) values[arguments[0].number] = IValue();
          values[made[0]] = std::move(item);
          break;
        }
        case Instruction::Repeat:
          values[made[0]] = repeated(*loops[step.index], take(values, arguments[0]).toTensorVector());
          break;
      }
    }
  }

  static c10::List<at::Tensor> repeated(const Loop& loop, std::vector<at::Tensor> given);

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

// A loop as one operation; see `ir/loop.py`.
struct Loop {
  py::object owners;  // of the programs
  const Program* body;
  const Program* condition;  // null if the number of steps is known
  size_t carried, stacks;
  int64_t steps;  // -1 if it isn't the same in each run
  bool backward, counts, counted;
  std::vector<size_t> copied;
  std::vector<at::Tensor> kept;

  static const int BETWEEN = 256;  // steps between two looks for an interrupt

  std::vector<at::Tensor> results(const Program& program, std::vector<IValue>& values) const {
    std::vector<at::Tensor> found;
    for (const auto& each : program.results) found.push_back(program.take(values, each).toTensor());
    return found;
  }

  bool goes_on(const std::vector<at::Tensor>& carries, const at::Tensor* outside, size_t others,
               std::vector<IValue>& values) const {
    values.assign(condition->registers, IValue());
    for (size_t i = 0; i < carried; ++i) values[i] = carries[i];
    for (size_t i = 0; i < others; ++i) values[carried + i] = outside[i];
    condition->execute(values);
    return condition->take(values, condition->results[0]).toTensor().item<bool>();
  }

  c10::List<at::Tensor> run(std::vector<at::Tensor> given) const {
    const size_t first = counted, last = first + carried + stacks, others = given.size() - last;
    const at::Tensor* outside = given.data() + last;
    const int64_t most = counted ? given[0].item<int64_t>() : steps;
    std::vector<at::Tensor> carries(given.begin() + first, given.begin() + first + carried);
    // what is kept goes to its place at once if the number of steps is known
    std::vector<at::Tensor> whole;
    std::vector<std::vector<at::Tensor>> columns(kept.size());
    if (!condition && most > 0)
      for (const auto& each : kept) {
        auto sizes = each.sizes().vec();
        sizes[0] = most;
        whole.push_back(at::empty(sizes, each.options()));
      }
    std::vector<IValue> values;
    int64_t count = 0;
    for (; condition ? goes_on(carries, outside, others, values) : count < most; ++count) {
      if (count % BETWEEN == BETWEEN - 1) {
        py::gil_scoped_acquire held;
        if (PyErr_CheckSignals()) throw py::error_already_set();
      }
      values.assign(body->registers, IValue());
      for (size_t i = 0; i < carried; ++i) values[i] = std::move(carries[i]);
      for (size_t i = 0; i < stacks; ++i)
        values[carried + i] = given[first + carried + i].select(0, backward ? most - 1 - count : count);
      for (size_t i = 0; i < others; ++i) values[carried + stacks + i] = outside[i];
      body->execute(values);
      auto found = results(*body, values);
      for (size_t i = 0; i < columns.size(); ++i) {
        if (whole.empty())
          columns[i].push_back(std::move(found[carried + i]));
        else
          whole[i].select(0, backward ? most - 1 - count : count).copy_(found[carried + i]);
      }
      found.resize(carried);
      carries = std::move(found);
    }
    if (count == 0)
      for (auto& each : carries) each = each.clone();
    else
      for (const size_t i : copied) carries[i] = carries[i].clone();
    c10::List<at::Tensor> made;
    for (auto& each : carries) made.push_back(std::move(each));
    for (size_t i = 0; i < columns.size(); ++i) {
      if (backward) std::reverse(columns[i].begin(), columns[i].end());
      made.push_back(!count ? kept[i].clone() : whole.empty() ? at::stack(columns[i]) : whole[i]);
      columns[i].clear();  // so that one is there twice at most
    }
    if (counts) made.push_back(at::scalar_tensor(count, at::kLong));
    return made;
  }
};

c10::List<at::Tensor> Program::repeated(const Loop& loop, std::vector<at::Tensor> given) {
  return loop.run(std::move(given));
}

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
  if (!PyList_CheckExact(given) && PyList_SetSlice(given, 0, PY_SSIZE_T_MAX, nullptr))  // `Handed`
    return nullptr;
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

// The program of a function that `make` gave; null for another function.
const Program* program_of(const py::object& function) {
  if (!PyCFunction_Check(function.ptr())) return nullptr;
  PyObject* owner = PyCFunction_GET_SELF(function.ptr());
  if (!owner || !PyCapsule_IsValid(owner, NAME)) return nullptr;
  return static_cast<const Program*>(PyCapsule_GetPointer(owner, NAME));
}

std::shared_ptr<const Loop> loop_of(const py::tuple& given) {
  auto loop = std::make_shared<Loop>();
  loop->owners = given;
  loop->body = program_of(given[0]);
  loop->condition = given[1].is_none() ? nullptr : program_of(given[1]);
  TORCH_CHECK_TYPE(loop->body && (loop->condition || given[1].is_none()), "no program");
  loop->carried = given[2].cast<size_t>();
  loop->stacks = given[3].cast<size_t>();
  loop->steps = given[4].cast<int64_t>();
  loop->backward = given[5].cast<bool>();
  loop->counts = given[6].cast<bool>();
  loop->counted = given[7].cast<bool>();
  loop->copied = given[8].cast<std::vector<size_t>>();
  loop->kept = given[9].cast<std::vector<at::Tensor>>();
  return loop;
}

// What a kernel can tell of a tensor besides its values.
struct Form {
  std::vector<int64_t> sizes, strides;
  at::ScalarType type;
  at::Device device;
  c10::DispatchKeySet keys;

  explicit Form(const at::Tensor& x)
      : sizes(x.sizes().vec()), strides(x.strides().vec()), type(x.scalar_type()),
        device(x.device()), keys(x.key_set()) {}

  bool fits(const at::Tensor& x) const {
    return x.key_set() == keys && x.scalar_type() == type && x.device() == device &&
           x.sizes() == sizes && x.strides() == strides && !x.requires_grad();
  }
};

// Where objects of a class keep their torch.Tensor: a slot.
struct Slot {
  PyTypeObject* type;
  Py_ssize_t offset;

  Slot(const py::object& cls, const char* name)
      : type(reinterpret_cast<PyTypeObject*>(cls.ptr())) {
    const py::object member = cls.attr(name);
    TORCH_CHECK_TYPE(Py_IS_TYPE(member.ptr(), &PyMemberDescr_Type), name, " is no slot");
    offset = reinterpret_cast<PyMemberDescrObject*>(member.ptr())->d_member->offset;
  }

  PyObject*& in(PyObject* object) const {
    return *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(object) + offset);
  }

  // The tensor of an object of exactly this class, if it has that form; else an undefined one.
  at::Tensor read(PyObject* object, const Form& form) const {
    if (!Py_IS_TYPE(object, type)) return {};
    PyObject* raw = in(object);
    if (!raw || !THPVariable_CheckExact(raw)) return {};
    const at::Tensor& x = THPVariable_Unpack(raw);
    return form.fits(x) ? x : at::Tensor();
  }
};

// A structure of lists and tuples; in an argument the leaves are Tensors, in a result constants or
// Tensors of numbered results.
struct Tree {
  enum Kind : uint8_t { Leaf, Tuple, List, Constant, Number } kind = Leaf;
  std::vector<Tree> parts;
  size_t number = 0;
  py::object constant;

  // Appends the leaves of an object; false if it has another structure.
  bool leaves_of(PyObject* object, c10::SmallVectorImpl<PyObject*>& found) const {
    if (kind == Leaf) {
      found.push_back(object);
      return true;
    }
    if (kind == List ? !PyList_CheckExact(object) : !PyTuple_CheckExact(object)) return false;
    if (size_t(PySequence_Fast_GET_SIZE(object)) != parts.size()) return false;
    for (size_t i = 0; i < parts.size(); ++i)
      if (!parts[i].leaves_of(PySequence_Fast_GET_ITEM(object, i), found)) return false;
    return true;
  }

  // a number, (kind, parts), ("constant", object), or ("number", number)
  static Tree of(const py::handle& given) {
    Tree made;
    if (PyLong_CheckExact(given.ptr())) {
      made.number = given.cast<size_t>();
      return made;
    }
    const auto pair = given.cast<py::tuple>();
    const auto kind = pair[0].cast<std::string>();
    made.kind = kind == "tuple" ? Tuple : kind == "list" ? List
        : kind == "number" ? Number : Constant;
    if (made.kind == Constant) made.constant = pair[1];
    else if (made.kind == Number) made.number = pair[1].cast<size_t>();
    else for (const auto& part : pair[1]) made.parts.push_back(of(part));
    return made;
  }
};

// The value of one element that a graph holds for.
struct Expected {
  size_t number = 0;  // of the result
  at::Scalar value;

  Expected(size_t which, const py::handle& given) : number(which) {
    if (PyBool_Check(given.ptr())) value = given.cast<bool>();
    else if (PyLong_CheckExact(given.ptr())) value = given.cast<int64_t>();
    else value = given.cast<double>();
  }

  bool is(const at::Tensor& raw) const {
    const auto found = raw.item();
    if (value.isBoolean()) return found.isBoolean() && found.toBool() == value.toBool();
    if (value.isIntegral(false)) return found.isIntegral(false) && found.toLong() == value.toLong();
    if (!found.isFloatingPoint()) return false;
    const double a = found.toDouble(), b = value.toDouble();
    return a == b ? std::signbit(a) == std::signbit(b) : std::isnan(a) && std::isnan(b);
  }
};

// A whole call: guards, then a program or another function of tensors, then Tensors around its
// results. The interpreter's lock is held until all tensors are taken. After a miss, nothing has
// happened.
struct Call {
  struct Held {
    py::object owner;  // a Tensor or a Parameter
    Slot slot;
    Form form;
  };

  py::object tensor, parameter, function;  // two classes, and what runs
  const Program* program;     // of the function, if it has one
  Slot made;                  // of a Tensor
  py::object guards, expected;  // a function, and the very object that it has to give
  Tree structure;             // of all arguments
  std::vector<Form> arguments;
  std::vector<Held> held;
  std::vector<py::object> constants;
  std::vector<size_t> takes;  // numbers of arguments, then of what is held, then of constants
  std::vector<size_t> results;  // which of the function's
  Tree form;                  // of the result
  std::vector<Expected> checks;  // of these results

  using Tensors = c10::SmallVector<at::Tensor, 16>;
  using Objects = c10::SmallVector<PyObject*, 16>;

  // Whether arguments are different Tensors of those forms, without attributes; and their data.
  bool fit(PyObject* given, Objects& leaves, Tensors& found) const {
    if (!structure.leaves_of(given, leaves) || leaves.size() != arguments.size()) return false;
    for (size_t i = 0; i < arguments.size(); ++i) {
      found.push_back(made.read(leaves[i], arguments[i]));
      if (!found[i].defined()) return false;
      for (size_t j = 0; j < i; ++j)
        if (found[j].is_same(found[i])) return false;
      const auto own = py::reinterpret_steal<py::object>(
          PyObject_GenericGetDict(leaves[i], nullptr));
      if (!own || PyDict_GET_SIZE(own.ptr())) return false;
    }
    return true;
  }

  bool take(PyObject* given, Tensors& values) const {
    Objects leaves;
    Tensors found;
    if (!fit(given, leaves, found)) return false;
    const auto now = py::reinterpret_steal<py::object>(PyObject_CallNoArgs(guards.ptr()));
    if (!now.is(expected)) return false;
    for (const auto& each : held) {
      found.push_back(each.slot.read(each.owner.ptr(), each.form));
      if (!found.back().defined()) return false;
    }
    for (const size_t number : takes)
      values.push_back(number < found.size()
          ? found[number] : THPVariable_Unpack(constants[number - found.size()].ptr()));
    return true;
  }

  // The function's results, wrapped for Python; false if there is an error.
  bool computed(Tensors& given, std::vector<THPObjectPtr>& found) const {
    if (program) {
      std::vector<IValue> values(program->registers);
      for (size_t i = 0; i < given.size(); ++i) values[i] = std::move(given[i]);
      at::AutoGradMode grad(true);  // nothing requires one; but some kernels keep less without
      program->run(values);
      for (const size_t which : results)
        found.emplace_back(THPVariable_Wrap(
            program->take(values, program->results[which]).toTensor()));
    } else {
      THPObjectPtr values(PyList_New(Py_ssize_t(given.size())));
      for (size_t i = 0; i < given.size(); ++i)
        PyList_SET_ITEM(values.get(), i, THPVariable_Wrap(given[i]));
      THPObjectPtr all(PyObject_CallOneArg(function.ptr(), values.get()));
      if (!all || !PyList_CheckExact(all.get())) return false;
      for (const size_t which : results) {
        if (which >= size_t(PyList_GET_SIZE(all.get()))) return false;
        found.emplace_back(Py_NewRef(PyList_GET_ITEM(all.get(), which)));
      }
    }
    return std::all_of(found.begin(), found.end(), [](const auto& each) { return bool(each); });
  }

  PyObject* built(const Tree& its, std::vector<THPObjectPtr>& raws) const {
    if (its.kind == Tree::Constant) return its.constant.inc_ref().ptr();
    if (its.kind == Tree::Number) {
      const auto found = THPVariable_Unpack(raws[its.number].get()).item();
      return found.isBoolean() ? PyBool_FromLong(found.toBool())
          : found.isIntegral(false) ? PyLong_FromLongLong(found.toLong())
                                    : PyFloat_FromDouble(found.toDouble());
    }
    if (its.kind == Tree::Leaf) {
      PyObject* out = made.type->tp_alloc(made.type, 0);
      if (out) made.in(out) = raws[its.number].release();
      return out;
    }
    const auto count = Py_ssize_t(its.parts.size());
    THPObjectPtr out(its.kind == Tree::List ? PyList_New(count) : PyTuple_New(count));
    for (Py_ssize_t i = 0; out && i < count; ++i) {
      PyObject* part = built(its.parts[i], raws);
      if (!part) return nullptr;
      if (its.kind == Tree::List) PyList_SET_ITEM(out.get(), i, part);
      else PyTuple_SET_ITEM(out.get(), i, part);
    }
    return out.release();
  }

  // What the call gives, or null: then an error is set, or this isn't such a call.
  PyObject* run(PyObject* given) const {
    Tensors values;
    std::vector<THPObjectPtr> raws;
    if (!take(given, values) || !computed(values, raws)) return nullptr;
    for (const auto& each : checks)
      if (!each.is(THPVariable_Unpack(raws[each.number].get()))) return nullptr;
    return built(form, raws);
  }

  int visit(visitproc visit, void* arg) const {
    for (PyObject* object : {tensor.ptr(), parameter.ptr(), function.ptr(), guards.ptr(),
                             expected.ptr()})
      Py_VISIT(object);
    for (const auto& each : held) Py_VISIT(each.owner.ptr());
    for (const auto& each : constants) Py_VISIT(each.ptr());
    return 0;
  }
};

// Python's object around a call. The garbage collector sees what it refers to: a network may refer
// to its compiled function, and that to the network.
struct Direct {
  PyObject_HEAD
  Call* call;
};

PyObject* direct_call(PyObject* self, PyObject* given, PyObject* named) {
  const Call* call = reinterpret_cast<Direct*>(self)->call;
  if (call && !(named && PyDict_GET_SIZE(named))) {
    try {
      if (PyObject* out = call->run(given)) return out;
    } catch (python_error& error) {
      error.restore();
    } catch (const std::exception&) {  // the function itself will say what is wrong
    }
  }
  if (PyErr_Occurred()) {
    if (!PyErr_ExceptionMatches(PyExc_Exception)) return nullptr;  // such as an interrupt
    PyErr_Clear();
  }
  Py_RETURN_NONE;
}

int direct_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  const Call* call = reinterpret_cast<Direct*>(self)->call;
  return call ? call->visit(visit, arg) : 0;
}

int direct_clear(PyObject* self) {
  delete std::exchange(reinterpret_cast<Direct*>(self)->call, nullptr);
  return 0;
}

void direct_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  direct_clear(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyType_Slot DIRECT_SLOTS[] = {
    {Py_tp_call, reinterpret_cast<void*>(direct_call)},
    {Py_tp_traverse, reinterpret_cast<void*>(direct_traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(direct_clear)},
    {Py_tp_dealloc, reinterpret_cast<void*>(direct_dealloc)},
    {Py_tp_doc, const_cast<char*>("direct(*args): what a call gives, or None.")},
    {0, nullptr}};
PyType_Spec DIRECT_SPEC = {
    "lamella_program.Direct", sizeof(Direct), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, DIRECT_SLOTS};
PyTypeObject* direct_type = nullptr;

// A `Direct`; see `direct.py` for what it takes.
py::object make_direct(const py::type& tensor, const py::type& parameter,
                       const py::object& function, const py::object& guards,
                       const py::object& expected, const py::tuple& arguments,
                       const py::object& structure, const py::list& held,
                       const py::list& constants, const std::vector<size_t>& takes,
                       const std::vector<size_t>& results, const py::object& form,
                       const py::list& checks) {
  const Slot raw(tensor, "_raw"), data(parameter, "_data");
  auto call = std::make_unique<Call>(Call{
      tensor, parameter, function, program_of(function), raw, guards, expected,
      Tree::of(structure), {}, {}, {}, takes, results, Tree::of(form), {}});
  for (const auto& each : checks) {
    const auto pair = each.cast<py::tuple>();
    call->checks.emplace_back(pair[0].cast<size_t>(), pair[1]);
    TORCH_CHECK_INDEX(call->checks.back().number < results.size(), "a guard on no result");
  }
  const auto form_of = [](const py::handle& object, const Slot& slot) {
    TORCH_CHECK_TYPE(Py_IS_TYPE(object.ptr(), slot.type), "a Tensor of another class");
    return Form(py::handle(slot.in(object.ptr())).cast<at::Tensor>());
  };
  Call::Objects leaves;
  TORCH_CHECK_VALUE(call->structure.leaves_of(arguments.ptr(), leaves), "another structure");
  for (PyObject* each : leaves) call->arguments.push_back(form_of(each, raw));
  leaves.clear();
  Call::Tensors found;
  TORCH_CHECK_VALUE(call->fit(arguments.ptr(), leaves, found), "other arguments");
  for (const auto& each : held) {
    const Slot& slot = Py_IS_TYPE(each.ptr(), data.type) ? data : raw;
    call->held.push_back({py::reinterpret_borrow<py::object>(each), slot, form_of(each, slot)});
  }
  for (const auto& each : constants) {
    TORCH_CHECK_TYPE(THPVariable_Check(each.ptr()), "a constant that is no tensor");
    call->constants.push_back(py::reinterpret_borrow<py::object>(each));
  }
  const size_t there = call->arguments.size() + call->held.size() + call->constants.size();
  const auto* program = call->program;
  TORCH_CHECK_INDEX((!program || (takes.size() == program->inputs &&
                                  std::all_of(results.begin(), results.end(), [&](size_t which) {
                                    return which < program->results.size(); })))
                    && std::all_of(takes.begin(), takes.end(),
                                   [there](size_t number) { return number < there; }),
                    "a program of other inputs");
  auto made = py::reinterpret_steal<py::object>(direct_type->tp_alloc(direct_type, 0));
  if (!made) throw py::error_already_set();
  reinterpret_cast<Direct*>(made.ptr())->call = call.release();
  return made;
}

// A function that runs a program; see `program.py` for what describes one.
py::object make(const py::list& described, const py::list& results, size_t registers,
                size_t inputs, bool shares) {
  auto program = std::make_unique<Program>();
  program->registers = registers;
  program->inputs = inputs;
  program->shares = shares;
  torch::jit::ToIValueAllowNumbersAsTensors numbers(true);
  std::unordered_map<std::string, uint32_t> operators;  // by name and overload
  program->instructions.reserve(described.size());
  for (const auto& each : described) {
    const auto parts = each.cast<py::tuple>();  // kind, name, overload, arguments, constants, results
    Instruction step;
    const auto kind = parts[0].cast<std::string>();
    auto arguments = arguments_of(parts[3]);
    const auto made = parts[5].cast<std::vector<int32_t>>();
    if (kind == "call") {
      step.kind = Instruction::Call;
      const auto name = parts[1].cast<std::string>(), overload = parts[2].cast<std::string>();
      const auto known = operators.try_emplace(name + "." + overload, program->operators.size());
      step.index = known.first->second;
      if (known.second)
        program->operators.push_back(
            c10::Dispatcher::singleton().findSchemaOrThrow(name.c_str(), overload.c_str()));
      const auto& formal = program->operators[step.index].schema().arguments();
      TORCH_CHECK(formal.size() == arguments.size(), name, " takes other arguments");
      const auto constants = parts[4].cast<py::list>();
      for (size_t i = 0; i < formal.size(); ++i) {
        auto& argument = arguments[i];
        if (argument.number >= 0) continue;
        const auto value = constants[~argument.number];
        argument.number = ~int32_t(program->constants.size());
        program->constants.push_back(torch::jit::toIValue(value, formal[i].type()));
      }
    } else if (kind == "loop") {
      step.kind = Instruction::Repeat;
      step.index = uint32_t(program->loops.size());
      program->loops.push_back(loop_of(parts[4].cast<py::tuple>()));
    } else if (kind == "item") {
      step.kind = Instruction::Item;
      step.index = parts[4].cast<int32_t>();
    } else {
      step.kind = kind == "list" ? Instruction::TensorList : Instruction::OptionalList;
      for (auto& argument : arguments)
        if (argument.number < 0) {  // None
          argument.number = ~int32_t(program->constants.size());
          program->constants.emplace_back();
        }
    }
    step.arguments = uint32_t(program->all_arguments.size());
    step.argument_count = uint32_t(arguments.size());
    step.results = uint32_t(program->all_results.size());
    step.result_count = uint32_t(made.size());
    program->all_arguments.insert(
        program->all_arguments.end(), arguments.begin(), arguments.end());
    program->all_results.insert(program->all_results.end(), made.begin(), made.end());
    program->instructions.push_back(step);
  }
  program->constants.shrink_to_fit();
  program->all_arguments.shrink_to_fit();
  program->all_results.shrink_to_fit();
  program->results = arguments_of(results);
  py::capsule owner(program.get(), NAME, [](PyObject* capsule) {
    delete static_cast<Program*>(PyCapsule_GetPointer(capsule, NAME));
  });
  program.release();
  return py::reinterpret_steal<py::object>(PyCFunction_New(&METHOD, owner.ptr()));
}

}  // namespace

PYBIND11_MODULE(lamella_program, module) {
  direct_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&DIRECT_SPEC));
  if (!direct_type) throw py::error_already_set();
  module.def("make", &make);
  module.def("make_direct", &make_direct);
}
