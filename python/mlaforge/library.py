"""libmlaforge.so by ctypes: structs as include/mlaforge declares them."""
import ctypes
import glob
import importlib.machinery
import importlib.util
import os
import sys

from .errors import MlafError
from .fields import MLA_DECODE, SCALES, STRUCTS

I32, I64, U32, PTR = ctypes.c_int32, ctypes.c_int64, ctypes.c_uint32, ctypes.c_void_p


class Problem(ctypes.Structure):
    _fields_ = [("struct_size", U32)] + [(name, I32) for name in MLA_DECODE]


class View(ctypes.Structure):
    _fields_ = [("data", PTR), ("dtype", I32), ("dims", I32), ("where", I32), ("reserved", I32), ("shape", I64 * 4),
                ("stride", I64 * 4)]


KINDS = {"i": I32, "I": U32, "q": I64, "N": ctypes.c_size_t, "f": ctypes.c_float, "d": ctypes.c_double, "P": PTR, "s": ctypes.c_char_p,
         "V": View}


def _structure(name, text):
    groups = (group.split(":") for group in text.split())
    fields = [(member, KINDS[kind]) for kind, members in groups for member in members.split(",")]
    return type(name, (ctypes.Structure,), {"_fields_": fields})


for _name, _text in STRUCTS.items():  # PlanOpts, Call and the others; one may be a member of those behind it
    globals()[_name] = KINDS[_name] = _structure(_name, _text)
ALLOC_FN = ctypes.CFUNCTYPE(PTR, PTR, ctypes.c_size_t)
CALL_SIZE = ctypes.sizeof(Call)
CALL_VIEWS = {name: getattr(Call, name).offset for name, kind in Call._fields_ if kind is View}
LOG_FN = ctypes.CFUNCTYPE(None, PTR, ctypes.c_int, ctypes.c_char_p)

_SIGNATURES = {
    "mlaf_ctx_create": (ctypes.c_int, [ctypes.POINTER(CtxOpts), ctypes.POINTER(PTR), ctypes.c_char_p, ctypes.c_size_t]),
    "mlaf_ctx_destroy": (None, [PTR]),
    "mlaf_ctx_last_message": (ctypes.c_int, [PTR, ctypes.c_char_p, ctypes.c_size_t]),
    "mlaf_ctx_device_name": (ctypes.c_char_p, [PTR]),
    "mlaf_ctx_target": (ctypes.c_char_p, [PTR]),
    "mlaf_ctx_device_id": (ctypes.c_char_p, [PTR]),
    "mlaf_ctx_ordinal": (ctypes.c_int, [PTR]),
    "mlaf_mem_alloc": (ctypes.c_int, [PTR, ctypes.c_size_t, ctypes.POINTER(PTR)]),
    "mlaf_mem_free": (ctypes.c_int, [PTR, PTR]),
    "mlaf_mem_write": (ctypes.c_int, [PTR, PTR, PTR, ctypes.c_size_t]),
    "mlaf_mem_read": (ctypes.c_int, [PTR, PTR, PTR, ctypes.c_size_t]),
    "mlaf_mem_register": (ctypes.c_int, [PTR, PTR, ctypes.c_size_t, U32]),
    "mlaf_mem_unregister": (ctypes.c_int, [PTR, PTR, ctypes.c_size_t]),
    "mlaf_sync": (ctypes.c_int, [PTR, PTR]),
    "mlaf_workspace_reserve": (ctypes.c_int, [PTR, PTR, ctypes.c_size_t]),
    "mlaf_workspace_get": (ctypes.c_int, [PTR, PTR, ctypes.c_size_t, ctypes.POINTER(PTR), ctypes.POINTER(ctypes.c_size_t)]),
    "mlaf_warm_up": (ctypes.c_int, [PTR, ctypes.POINTER(Problem), ctypes.POINTER(WarmUpOpts), ctypes.POINTER(WarmUpResult)]),
    "mlaf_call_run": (ctypes.c_int, [PTR, ctypes.POINTER(Call), PTR]),
    "mlaf_plan_get": (ctypes.c_int, [PTR, ctypes.POINTER(Problem), ctypes.POINTER(PlanOpts), ctypes.POINTER(PTR)]),
    "mlaf_plan_for": (ctypes.c_int, [PTR, ctypes.c_char_p, ctypes.POINTER(PlanOpts), ctypes.POINTER(PTR)]),
    "mlaf_run": (ctypes.c_int, [PTR, ctypes.c_char_p, PTR, PTR]),
    "mlaf_run_workspace": (ctypes.c_size_t, [PTR, ctypes.c_char_p, PTR]),
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
    """$MLAF_LIBRARY; the library in this package (a wheel's) or of the prefix it is installed in; the loader's own search."""
    named = os.environ.get("MLAF_LIBRARY")
    if named:
        return [named]
    found, here = [], os.path.join(os.path.dirname(os.path.abspath(__file__)), "prefix", "lib")  # a wheel's, first
    for _ in range(8):
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
        _directories.append(os.path.dirname(os.path.abspath(path)) if os.sep in path else "")
        return lib
    raise MlafError("MLAF_E_IO", "libmlaforge.so.0 does not load; name it with MLAF_LIBRARY: " + "; ".join(tried))


# Libraries in site-packages, where PyTorch's wheels put them: the variable that names their folders, to be looked into when there is no
# other; folders of CUDA 12's packages beside those of 13; files.
ALSO = {"MLAF_NVRTC_ALSO": ("cuda_nvrtc/lib", "libnvrtc.so.1[23]"), "MLAF_CUBLASLT_ALSO": ("cublas/lib", "libcublasLt.so.1[23]")}


def find_also(variable):
    found, (older, name) = [], ALSO[variable]
    for entry in sys.path:
        for pattern in ("cu[0-9]*/lib", older):
            for library_file in sorted(glob.glob(os.path.join(glob.escape(entry or "."), "nvidia", pattern, name))):
                folder = os.path.dirname(library_file)
                if folder not in found and ":" not in folder:
                    found.append(folder)
    return found


_library, _directories, _fast = None, [], None
FAST = "_fast.abi3.so"


def _load_fast():
    """The compiled module of this package: beside it, or beside the library (a build's folder). None: there is none, or not for this
    interpreter; $MLAF_FAST=0: not wanted."""
    if os.environ.get("MLAF_FAST") == "0":
        return None
    for folder in (os.path.dirname(os.path.abspath(__file__)), *_directories):
        path = os.path.join(folder, FAST)
        if not os.path.exists(path):
            continue
        try:
            spec = importlib.util.spec_from_file_location("mlaforge._fast", path, loader=importlib.machinery.ExtensionFileLoader(
                "mlaforge._fast", path))
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
        except ImportError:
            continue
        module.bind(ctypes.cast(library().mlaf_call_run, PTR).value, *(CALL_VIEWS[name] for name in SCALES))
        return module
    return None


def fast():
    """The compiled module, or None."""
    global _fast
    if _fast is None:
        library()
        _fast = _load_fast() or False
    return _fast or None


def library():
    """The library, loaded at first use."""
    global _library
    if _library is None:
        _library = _load()
        for variable in ALSO:
            folders = find_also(variable) if variable not in os.environ else None
            if folders:
                os.environ[variable] = ":".join(folders)
    return _library


def version():
    """The library's version, e.g. "0.1.0". mlaforge.__version__ is the same."""
    return library().mlaf_version().decode()
