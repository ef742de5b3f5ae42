// Whether containers and names hold the very objects that they held: what guards ask at every call.
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

bool is_tuple(PyObject* entry, Py_ssize_t count) {
  return PyTuple_CheckExact(entry) && PyTuple_GET_SIZE(entry) == count;
}

// Whether something is a tuple of so many parts, all lists but the first.
bool is_entry(PyObject* entry, Py_ssize_t count) {
  if (!is_tuple(entry, count)) return false;
  for (Py_ssize_t i = 1; i < count; ++i)
    if (!PyList_CheckExact(PyTuple_GET_ITEM(entry, i))) return false;
  return true;
}

// Of (dict or view of one, name, value): whether the name has that value, or is absent.
bool holds_name(PyObject* entry, PyObject* absent) {
  if (!is_tuple(entry, 3)) return false;
  PyObject *space = PyTuple_GET_ITEM(entry, 0), *name = PyTuple_GET_ITEM(entry, 1);
  PyObject* value = PyTuple_GET_ITEM(entry, 2);
  if (PyDict_CheckExact(space)) {
    PyObject* now = PyDict_GetItemWithError(space, name);
    return (now ? now : absent) == value && !PyErr_Occurred();
  }
  if (value == absent) return !PySequence_Contains(space, name);
  PyObject* now = PyObject_GetItem(space, name);
  if (!now && PyErr_ExceptionMatches(PyExc_KeyError)) PyErr_Clear();
  Py_XDECREF(now);
  return now == value;
}

// Of (variable of a closure, value).
bool holds_variable(PyObject* entry, PyObject* absent) {
  if (!is_tuple(entry, 2) || !PyCell_Check(PyTuple_GET_ITEM(entry, 0))) return false;
  PyObject* now = PyCell_GET(PyTuple_GET_ITEM(entry, 0));
  return (now ? now : absent) == PyTuple_GET_ITEM(entry, 1);
}

// Of (object, name of an attribute that runs no code of Python's, value).
bool holds_attribute(PyObject* entry, PyObject* absent) {
  if (!is_tuple(entry, 3)) return false;
  PyObject* now = PyObject_GenericGetAttr(PyTuple_GET_ITEM(entry, 0), PyTuple_GET_ITEM(entry, 1));
  if (!now) {
    if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return false;
    PyErr_Clear();
    return absent == PyTuple_GET_ITEM(entry, 2);
  }
  Py_DECREF(now);
  return now == PyTuple_GET_ITEM(entry, 2);
}

// Of (object, its class).
bool holds_class(PyObject* entry, PyObject*) {
  return is_tuple(entry, 2) && reinterpret_cast<PyObject*>(Py_TYPE(PyTuple_GET_ITEM(entry, 0))) ==
                                   PyTuple_GET_ITEM(entry, 1);
}

using Holds = bool (*)(PyObject* entry, PyObject* absent);

// Whether all entries of a list hold; false with an error set if one couldn't be asked.
bool hold_all(PyObject* entries, PyObject* absent, Holds holds) {
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(entries); ++i)
    if (!holds(PyList_GET_ITEM(entries, i), absent)) return false;
  return true;
}

// hold(dicts, lists, names, variables, attributes, classes, absent): of (dict, names, values),
// (list, values), (dict, name, value), (variable, value), (object, name, value), (object, class).
PyObject* hold(PyObject*, PyObject* args) {
  PyObject *dicts, *lists, *names, *variables, *attributes, *classes, *absent;
  if (!PyArg_ParseTuple(args, "O!O!O!O!O!O!O", &PyList_Type, &dicts, &PyList_Type, &lists,
                        &PyList_Type, &names, &PyList_Type, &variables, &PyList_Type, &attributes,
                        &PyList_Type, &classes, &absent))
    return nullptr;
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
  const bool holds = hold_all(names, absent, holds_name) &&
                     hold_all(variables, absent, holds_variable) &&
                     hold_all(attributes, absent, holds_attribute) &&
                     hold_all(classes, absent, holds_class);
  return PyErr_Occurred() ? nullptr : PyBool_FromLong(holds);
}

PyMethodDef METHODS[] = {{"hold", hold, METH_VARARGS, "Whether all hold what they held."},
                         {nullptr, nullptr, 0, nullptr}};
PyModuleDef MODULE = {PyModuleDef_HEAD_INIT, "lamella_identity", nullptr, -1, METHODS,
                      nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit_lamella_identity() { return PyModule_Create(&MODULE); }
