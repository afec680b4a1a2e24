/* SPDX-License-Identifier: MIT */
/* bindings/python: an extension for the tests: leaks by malloc, behind Python's back.
 * In: bytes. Out: nothing. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdlib.h>
#include <string.h>

static void *volatile kept; /* without it the compiler leaves the block out */

static PyObject *leak(PyObject *self, PyObject *args)
{
    Py_ssize_t bytes;
    void *block;

    (void)self;
    if (!PyArg_ParseTuple(args, "n", &bytes))
        return NULL;
    block = malloc((size_t)bytes);
    if (block)
        memset(block, 1, (size_t)bytes);
    kept = block;
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {{"leak", leak, METH_VARARGS, NULL}, {0}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "native", NULL, -1, methods};

PyMODINIT_FUNC PyInit_native(void)
{
    return PyModule_Create(&module);
}
