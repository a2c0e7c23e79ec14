"""libmlaforge.so by ctypes: structs as include/mlaforge declares them."""
import ctypes
import os

from .errors import MlafError

I32, I64, U32, PTR = ctypes.c_int32, ctypes.c_int64, ctypes.c_uint32, ctypes.c_void_p


class Problem(ctypes.Structure):
    _fields_ = [("struct_size", U32)] + [(name, I32) for name in (
        "heads", "rank", "rope", "q_len", "causal", "dtype", "page_size", "batch", "ctx")]


class CtxOpts(ctypes.Structure):
    _fields_ = [("struct_size", U32), ("flags", U32), ("device", ctypes.c_char_p), ("db_path", ctypes.c_char_p),
                ("cache_dir", ctypes.c_char_p), ("gen_root", ctypes.c_char_p), ("rocm_prefix", ctypes.c_char_p),
                ("worker_path", ctypes.c_char_p), ("log", PTR), ("log_user", PTR), ("log_level", I32), ("jobs", I32),
                ("compile_timeout_s", ctypes.c_double), ("bundle", ctypes.c_char_p)]


class PlanOpts(ctypes.Structure):
    _fields_ = [("struct_size", U32), ("flags", U32), ("effort", I32), ("reserved", I32), ("time_limit_s", ctypes.c_double),
                ("lengths", ctypes.c_char_p)]


class PlanInfo(ctypes.Structure):
    _fields_ = [("struct_size", U32), ("splits", I32)] + [(name, ctypes.c_char_p) for name in (
        "problem", "rung", "source", "variant", "tuned_for", "code", "stale", "notes")] + [
        ("compiles", I32), ("reserved", I32), ("ns", ctypes.c_double), ("error", ctypes.c_double), ("lengths", ctypes.c_char_p)]


class ExecuteArgs(ctypes.Structure):
    _fields_ = [("struct_size", U32), ("batch", I32), ("total_q", I64), ("q", PTR), ("ckv", PTR), ("kpe", PTR),
                ("ckv_row_stride", I64), ("kpe_row_stride", I64), ("qo_indptr", PTR), ("kv_indptr", PTR),
                ("kv_indices", PTR), ("kv_last_page_lens", PTR), ("o", PTR), ("lse", PTR), ("workspace", PTR),
                ("workspace_size", ctypes.c_size_t), ("num_pages", I32), ("scale", ctypes.c_float)]


LOG_FN = ctypes.CFUNCTYPE(None, PTR, ctypes.c_int, ctypes.c_char_p)

_SIGNATURES = {
    "mlaf_ctx_create": (ctypes.c_int, [ctypes.POINTER(CtxOpts), ctypes.POINTER(PTR), ctypes.c_char_p, ctypes.c_size_t]),
    "mlaf_ctx_destroy": (None, [PTR]),
    "mlaf_ctx_last_message": (ctypes.c_int, [PTR, ctypes.c_char_p, ctypes.c_size_t]),
    "mlaf_ctx_device_name": (ctypes.c_char_p, [PTR]),
    "mlaf_ctx_target": (ctypes.c_char_p, [PTR]),
    "mlaf_mem_alloc": (ctypes.c_int, [PTR, ctypes.c_size_t, ctypes.POINTER(PTR)]),
    "mlaf_mem_free": (ctypes.c_int, [PTR, PTR]),
    "mlaf_mem_write": (ctypes.c_int, [PTR, PTR, PTR, ctypes.c_size_t]),
    "mlaf_mem_read": (ctypes.c_int, [PTR, PTR, PTR, ctypes.c_size_t]),
    "mlaf_sync": (ctypes.c_int, [PTR, PTR]),
    "mlaf_plan_get": (ctypes.c_int, [PTR, ctypes.POINTER(Problem), ctypes.POINTER(PlanOpts), ctypes.POINTER(PTR)]),
    "mlaf_plan_forget": (None, [PTR]),
    "mlaf_plan_release": (None, [PTR]),
    "mlaf_plan_query": (ctypes.c_int, [PTR, ctypes.POINTER(PlanInfo)]),
    "mlaf_plan_workspace_size": (ctypes.c_size_t, [PTR, I64]),
    "mlaf_execute": (ctypes.c_int, [PTR, ctypes.POINTER(ExecuteArgs), PTR]),
    "mlaf_status_name": (ctypes.c_char_p, [ctypes.c_int]),
    "mlaf_status_text": (ctypes.c_char_p, [ctypes.c_int]),
    "mlaf_version": (ctypes.c_char_p, []),
}

SONAME = "libmlaforge.so.0"


def _candidates():
    """$MLAF_LIBRARY; the library of the prefix this package is installed in; the loader's own search."""
    named = os.environ.get("MLAF_LIBRARY")
    if named:
        return [named]
    found, here = [], os.path.dirname(os.path.abspath(__file__))
    for _ in range(6):
        here = os.path.dirname(here)
        for lib in ("lib", "lib64", "lib/x86_64-linux-gnu"):
            path = os.path.join(here, lib, SONAME)
            if os.path.exists(path):
                found.append(path)
    return found + [SONAME]


def _load():
    tried = []
    for path in _candidates():
        try:
            lib = ctypes.CDLL(path)
        except OSError as why:
            tried.append(str(why))
            continue
        for name, (result, arguments) in _SIGNATURES.items():
            function = getattr(lib, name)
            function.restype, function.argtypes = result, arguments
        return lib
    raise MlafError("MLAF_E_IO", "libmlaforge.so.0 does not load; name it with MLAF_LIBRARY: " + "; ".join(tried))


_library = None


def library():
    """The library, loaded at first use."""
    global _library
    if _library is None:
        _library = _load()
    return _library


def version():
    return library().mlaf_version().decode()
