/* Shared by the parts of the compiled module: a tensor as the library sees it, and what PyTorch is asked for. */
#pragma once

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030a0000
#include <Python.h>

#include "mlaforge/call.h"

/* *v stays as it is for None. False: a Python error is set. */
int fast_read_view(PyObject *t, mlaf_view *v);
int fast_is_dense(const mlaf_view *v);
/* True if PyTorch is loaded; it is looked for, never imported. */
int fast_find_torch(void);
int fast_is_torch(PyObject *t);
/* A dense tensor like a given one; NULL: an error is set, or PyTorch makes none so. */
PyObject *fast_empty_like(PyObject *given);
/* The stream that is current for a tensor's device, and one that the caller names: an address, or an object with cuda_stream. */
void *fast_current_stream(PyObject *t, const mlaf_view *v);
void *fast_named_stream(PyObject *given);

/* --- _fast_layer.c --- */

PyObject *fast_layer(PyObject *self, PyObject *args);
PyObject *fast_forward(PyObject *self, PyObject *const *a, Py_ssize_t n);
