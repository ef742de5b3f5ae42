// A call of XLA's machine code: PyTorch's tensors in, PyTorch's tensors out, nothing copied but
// small inputs that lie at odd places. `client.Executable` has the same in Python.

#include <ATen/ATen.h>
#include <ATen/DLConvertor.h>
#include <pthread.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/utils/pybind.h>

#include <cstring>
#include <optional>

namespace py = pybind11;

namespace {

constexpr uintptr_t ALIGNED = 64;  // bytes: other memory is copied when it is imported
constexpr size_t PLACES = 16;      // of one input that are kept

bool forked = false;  // XLA's threads are missing then

// A tensor among the arrays that XLA gives: it may be a part of one.
struct Result {
  size_t array;
  int64_t offset;  // in elements
  std::vector<int64_t> sizes, strides;
  bool is_part;
};

// Memory for inputs that are copied, and XLA's arrays of it: for one call at a time.
struct Copies {
  std::vector<at::Tensor> memory;
  std::vector<py::object> arrays;
};

struct Executable {
  py::object execute, wait, to_dlpack;  // of jaxlib; execute(arrays): what has `name`d results
  py::object handlers;  // handlers(arrays): what makes such arrays of results faster
  py::object made_by;   // these, once there has been a run
  py::object import;     // import(number, value): an array, and memory to copy to, None or False
  py::object otherwise;  // computes the same without XLA
  std::vector<std::vector<std::pair<uintptr_t, py::object>>> kept;  // arrays by addresses
  std::vector<size_t> taken;  // the numbers of the inputs that XLA takes
  std::vector<std::vector<int64_t>> orders;  // of dimensions in memory; empty if they lie in order
  std::vector<Result> results;
  std::optional<std::pair<size_t, int64_t>> flag;  // the array, and the number in it
  std::vector<std::unique_ptr<Copies>> free;
  Py_ssize_t least = 0;  // inputs

  // A new reference to the array of an input.
  PyObject* array_of(size_t i, PyObject* value, std::unique_ptr<Copies>& copies) {
    const at::Tensor& x = THPVariable_Unpack(value);
    const auto place = reinterpret_cast<uintptr_t>(x.const_data_ptr());
    if (place % ALIGNED == 0)
      for (const auto& [at, array] : kept[i])
        if (at == place) return array.inc_ref().ptr();
    if (copies && copies->memory[i].defined()) {
      copy(x, orders[i], copies->memory[i]);
      return copies->arrays[i].inc_ref().ptr();
    }
    const auto found = import(i, py::reinterpret_borrow<py::object>(value)).cast<py::tuple>();
    const py::object array = found[0], memory = found[1];
    if (memory.is_none()) {
      if (kept[i].size() >= PLACES) kept[i].clear();
      kept[i].emplace_back(place, array);
    } else if (THPVariable_Check(memory.ptr())) {
      if (!copies) {
        copies = std::make_unique<Copies>();
        copies->memory.resize(kept.size());
        copies->arrays.resize(kept.size());
      }
      copies->memory[i] = THPVariable_Unpack(memory.ptr());
      copies->arrays[i] = array;
    }
    return array.inc_ref().ptr();
  }

  static void copy(const at::Tensor& x, const std::vector<int64_t>& order, const at::Tensor& to) {
    if (order.empty() && x.is_contiguous() && !x.is_conj() && !x.is_neg() &&
        x.nbytes() == to.nbytes())
      std::memcpy(to.mutable_data_ptr(), x.const_data_ptr(), to.nbytes());
    else
      to.copy_(order.empty() ? x.detach() : x.detach().permute(order));
  }

  // Arrays as tensors that own what they need.
  std::vector<at::Tensor> exported(PyObject* arrays) const {
    std::vector<at::Tensor> found;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(arrays); ++i) {
      const py::object capsule = to_dlpack(py::handle(PyList_GET_ITEM(arrays, i)));
      auto* managed = static_cast<DLManagedTensor*>(
          PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
      if (!managed) throw py::error_already_set();
      found.push_back(at::fromDLPack(managed));
      PyCapsule_SetName(capsule.ptr(), "used_dltensor");
    }
    return found;
  }

  static at::Tensor result_of(const at::Tensor& whole, const Result& its) {
    if (its.is_part) {  // with storage of its own, so that nobody sees what lies beside it
      char* start = static_cast<char*>(whole.data_ptr()) + its.offset * whole.element_size();
      return at::from_blob(start, its.sizes, its.strides, [whole](void*) {}, whole.options());
    }
    return whole.sizes() == its.sizes && whole.strides() == its.strides
        ? whole : whole.as_strided(its.sizes, its.strides);
  }

  // Raises an error if the flag says that something can't be computed; see `client.FLAGGED`.
  void check(const std::vector<at::Tensor>& wholes) const {
    if (!flag) return;
    const at::Tensor& whole = wholes.at(flag->first);
    const auto* bytes = static_cast<const char*>(whole.const_data_ptr()) + flag->second * whole.element_size();
    for (size_t i = 0; i < whole.element_size(); ++i)
      TORCH_CHECK(!bytes[i], "XLA's code can't compute this");
  }

  // The arrays that XLA's code gives. The first time they tell what others are made by, since it
  // takes long to find their shapes and where they lie.
  py::object computed(const py::list& arrays) {
    const py::object found = execute(arrays);
    if (made_by) return found.attr("consume_with_handlers")(made_by);
    const py::object first = found.attr("disassemble_into_single_device_arrays")();
    py::list flat;
    for (const auto& each : first) flat.append(each.cast<py::list>()[0]);
    made_by = handlers(flat);
    return flat;
  }

  PyObject* run(PyObject* values) {
    TORCH_CHECK_TYPE(PyList_Check(values) && PyList_GET_SIZE(values) >= least,
                     "an executable takes a list of at least ", least, " tensors");
    if (forked) return PyObject_CallOneArg(otherwise.ptr(), values);
    std::unique_ptr<Copies> copies;
    if (!free.empty()) {
      copies = std::move(free.back());
      free.pop_back();
    }
    py::list arrays(kept.size());
    for (size_t i = 0; i < kept.size(); ++i)
      PyList_SET_ITEM(arrays.ptr(), i, array_of(i, PyList_GET_ITEM(values, taken[i]), copies));
    const py::object found = computed(arrays);
    TORCH_CHECK_TYPE(PyList_Check(found.ptr()), "XLA gives no list");
    if (PyList_GET_SIZE(found.ptr())) {  // afterwards the program may change what was read
      py::list first(1);
      PyList_SET_ITEM(first.ptr(), 0, Py_NewRef(PyList_GET_ITEM(found.ptr(), 0)));
      wait(first);
    }
    if (copies) free.push_back(std::move(copies));
    const auto wholes = exported(found.ptr());
    check(wholes);
    py::list made(results.size());
    for (size_t i = 0; i < results.size(); ++i) {
      PyObject* tensor = THPVariable_Wrap(result_of(wholes.at(results[i].array), results[i]));
      if (!tensor) throw py::error_already_set();
      PyList_SET_ITEM(made.ptr(), i, tensor);
    }
    return made.release().ptr();
  }
};

const char* const NAME = "lamella.Executable";

PyObject* call(PyObject* self, PyObject* values) {
  HANDLE_TH_ERRORS
  auto* executable = static_cast<Executable*>(PyCapsule_GetPointer(self, NAME));
  return executable ? executable->run(values) : nullptr;
  END_HANDLE_TH_ERRORS
}

PyMethodDef METHOD = {"executable", call, METH_O, "The results of a run of XLA's machine code."};

// A function like `client.Executable`, which describes what it takes.
py::object make(const std::vector<size_t>& taken, const py::object& execute,
                const py::object& handlers, const py::object& wait, const py::object& to_dlpack,
                const py::object& import, const py::object& otherwise,
                const std::vector<std::vector<int64_t>>& orders, const py::list& results,
                const std::optional<std::pair<size_t, int64_t>>& flag) {
  auto made = std::make_unique<Executable>();
  made->execute = execute, made->handlers = handlers, made->wait = wait, made->to_dlpack = to_dlpack;
  made->import = import, made->otherwise = otherwise;
  made->kept.resize(orders.size());
  made->taken = taken, made->orders = orders, made->flag = flag;
  for (const size_t number : taken) made->least = std::max(made->least, Py_ssize_t(number + 1));
  for (const auto& each : results) {
    const auto parts = each.cast<py::tuple>();  // array, offset or None, shape, strides
    const bool is_part = !parts[1].is_none();
    made->results.push_back({parts[0].cast<size_t>(), is_part ? parts[1].cast<int64_t>() : 0,
                             parts[2].cast<std::vector<int64_t>>(),
                             parts[3].cast<std::vector<int64_t>>(), is_part});
  }
  py::capsule owner(made.release(), NAME, [](PyObject* capsule) {
    delete static_cast<Executable*>(PyCapsule_GetPointer(capsule, NAME));
  });
  return py::reinterpret_steal<py::object>(PyCFunction_New(&METHOD, owner.ptr()));
}

}  // namespace

PYBIND11_MODULE(lamella_xla_call, module) {
  pthread_atfork(nullptr, nullptr, [] { forked = true; });
  module.def("make", &make);
}
