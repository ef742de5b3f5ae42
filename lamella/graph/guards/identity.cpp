// Whether containers hold the very objects that they held: what guards ask at every call.
//
// No code of Python's runs meanwhile, so they are compared as of one moment.

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace {

bool is_same_name(PyObject* a, PyObject* b) {
  return a == b || (PyUnicode_CheckExact(a) && PyUnicode_CheckExact(b) && !PyUnicode_Compare(a, b));
}

// An OrderedDict has an order of its own, which only its iterator knows.
bool holds_ordered(PyObject* dict, PyObject* names, PyObject* values, Py_ssize_t count) {
  PyObject* iterator = PyObject_GetIter(dict);
  if (!iterator) return false;
  bool holds = true;
  for (Py_ssize_t i = 0; holds && i < count; ++i) {
    PyObject* name = PyIter_Next(iterator);
    holds = name && PyUnicode_CheckExact(name) && is_same_name(name, PyList_GET_ITEM(names, i)) &&
            PyDict_GetItemWithError(dict, name) == PyList_GET_ITEM(values, i);
    Py_XDECREF(name);
  }
  Py_DECREF(iterator);
  return holds;
}

bool holds_dict(PyObject* dict, PyObject* names, PyObject* values) {
  const Py_ssize_t count = PyList_GET_SIZE(names);
  if (!PyDict_Check(dict) || PyDict_GET_SIZE(dict) != count || PyList_GET_SIZE(values) != count)
    return false;
  if (PyODict_CheckExact(dict)) return holds_ordered(dict, names, values, count);
  if (!PyDict_CheckExact(dict)) return false;
  PyObject *name, *value;
  for (Py_ssize_t place = 0, i = 0; PyDict_Next(dict, &place, &name, &value); ++i)
    if (i >= count || value != PyList_GET_ITEM(values, i) ||
        !is_same_name(name, PyList_GET_ITEM(names, i)))
      return false;
  return true;
}

bool holds_list(PyObject* list, PyObject* values) {
  const Py_ssize_t count = PyList_GET_SIZE(values);
  if (!PyList_CheckExact(list) || PyList_GET_SIZE(list) != count) return false;
  for (Py_ssize_t i = 0; i < count; ++i)
    if (PyList_GET_ITEM(list, i) != PyList_GET_ITEM(values, i)) return false;
  return true;
}

// Whether something is a tuple of so many parts, all lists but the first.
bool is_entry(PyObject* entry, Py_ssize_t count) {
  if (!PyTuple_CheckExact(entry) || PyTuple_GET_SIZE(entry) != count) return false;
  for (Py_ssize_t i = 1; i < count; ++i)
    if (!PyList_CheckExact(PyTuple_GET_ITEM(entry, i))) return false;
  return true;
}

// hold(dicts, lists): of (dict, names, values) and (list, values).
PyObject* hold(PyObject*, PyObject* args) {
  PyObject *dicts, *lists;
  if (!PyArg_ParseTuple(args, "O!O!", &PyList_Type, &dicts, &PyList_Type, &lists)) return nullptr;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(dicts); ++i) {
    PyObject* entry = PyList_GET_ITEM(dicts, i);
    if (!is_entry(entry, 3) || !holds_dict(PyTuple_GET_ITEM(entry, 0), PyTuple_GET_ITEM(entry, 1),
                                           PyTuple_GET_ITEM(entry, 2))) {
      if (PyErr_Occurred()) return nullptr;
      Py_RETURN_FALSE;
    }
  }
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(lists); ++i) {
    PyObject* entry = PyList_GET_ITEM(lists, i);
    if (!is_entry(entry, 2) || !holds_list(PyTuple_GET_ITEM(entry, 0), PyTuple_GET_ITEM(entry, 1)))
      Py_RETURN_FALSE;
  }
  Py_RETURN_TRUE;
}

PyMethodDef METHODS[] = {{"hold", hold, METH_VARARGS, "Whether all hold what they held."},
                         {nullptr, nullptr, 0, nullptr}};
PyModuleDef MODULE = {PyModuleDef_HEAD_INIT, "lamella_identity", nullptr, -1, METHODS,
                      nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit_lamella_identity() { return PyModule_Create(&MODULE); }
