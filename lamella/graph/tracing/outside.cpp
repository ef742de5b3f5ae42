// The profiler of `outside.py`: it passes over code of Lamella and PyTorch, from which most events
// come, without a call of Python for each.

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <unordered_map>

namespace {

using Known = std::unordered_map<PyCodeObject*, bool>;  // whether code is passed over
const char* const KNOWN = "lamella_outside.known";

void drop(PyObject* capsule) {
  delete static_cast<Known*>(PyCapsule_GetPointer(capsule, KNOWN));
}

// Call `event` unless the frame's code is passed over. `self` is (event, passes over, known); the
// second is asked about each code object once, and keeps it alive.
int notice(PyObject* self, PyFrameObject* frame, int what, PyObject* arg) {
  if (what != PyTrace_CALL && what != PyTrace_C_CALL) return 0;
  PyCodeObject* code = PyFrame_GetCode(frame);
  auto* known = static_cast<Known*>(PyCapsule_GetPointer(PyTuple_GET_ITEM(self, 2), KNOWN));
  auto found = known->find(code);
  PyObject* answer = nullptr;
  if (found == known->end()) {
    answer = PyObject_CallOneArg(PyTuple_GET_ITEM(self, 1), reinterpret_cast<PyObject*>(code));
    if (answer) found = known->emplace(code, answer == Py_True).first;
    Py_XDECREF(answer);
  }
  Py_DECREF(code);
  if (found != known->end()) {
    if (found->second) return 0;
    answer = PyObject_CallFunction(PyTuple_GET_ITEM(self, 0), "OsO", frame,
                                   what == PyTrace_CALL ? "call" : "c_call", arg ? arg : Py_None);
    if (answer) {
      Py_DECREF(answer);
      return 0;
    }
  }
  PyEval_SetProfile(nullptr, nullptr);  // as `sys.setprofile` does with a function that raises
  return -1;
}

// known(): an empty record of code objects.
PyObject* known(PyObject*, PyObject*) { return PyCapsule_New(new Known, KNOWN, drop); }

// enable(profiler): let this thread use (event, passes over, known) as its profiler.
PyObject* enable(PyObject*, PyObject* profiler) {
  if (!PyTuple_CheckExact(profiler) || PyTuple_GET_SIZE(profiler) != 3 ||
      !PyCapsule_IsValid(PyTuple_GET_ITEM(profiler, 2), KNOWN)) {
    PyErr_SetString(PyExc_TypeError, "not a profiler");
    return nullptr;
  }
  PyEval_SetProfile(notice, profiler);
  Py_RETURN_NONE;
}

PyMethodDef METHODS[] = {{"known", known, METH_NOARGS, "An empty record of code objects."},
                         {"enable", enable, METH_O, "Let this thread use a profiler."},
                         {nullptr, nullptr, 0, nullptr}};
PyModuleDef MODULE = {PyModuleDef_HEAD_INIT, "lamella_outside", nullptr, -1, METHODS,
                      nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit_lamella_outside() { return PyModule_Create(&MODULE); }
