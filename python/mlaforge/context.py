"""A context of the library: a device, and the plans made for it."""
import ctypes
import os
import threading

from .errors import MlafError
from .library import LOG_FN, PTR, CtxOpts, ExecuteArgs, PlanInfo, PlanOpts, Problem, library

EFFORT = {"db_only": 0, "estimate": 1, "measure": 2}
NO_COMPILE = 1


def _text(value):
    return None if value is None else os.fsencode(value)


class Context:
    """Options as mlaf_ctx_opts has them. `log` is called with (level, line). `effort`, `no_compile` and `lengths` hold for every plan: by default
    what is not tuned runs the model's choice, and what is not compiled is compiled at its first use."""

    def __init__(self, device=None, db_path=None, cache_dir=None, bundle=None, effort="estimate", no_compile=False, log=None,
                 log_level=1, lengths=None):
        self._lib, self._handle = library(), PTR()
        self._log = LOG_FN(lambda user, level, line: log(level, line.decode(errors="replace"))) if log else None
        opts = CtxOpts(struct_size=ctypes.sizeof(CtxOpts), device=_text(device), db_path=_text(db_path), cache_dir=_text(cache_dir),
                       bundle=_text(bundle), log_level=log_level, log=ctypes.cast(self._log, PTR) if self._log else None)
        self._plan_opts = PlanOpts(struct_size=ctypes.sizeof(PlanOpts), effort=EFFORT[effort],
                                   flags=NO_COMPILE if no_compile else 0, lengths=_text(lengths))
        why = ctypes.create_string_buffer(4096)
        status = self._lib.mlaf_ctx_create(ctypes.byref(opts), ctypes.byref(self._handle), why, len(why))
        if status:
            self._handle = PTR()
            raise MlafError(self._lib.mlaf_status_name(status).decode(), why.value.decode(errors="replace"))
        self._workspaces, self._lock = {}, threading.Lock()

    def close(self):
        """Nothing that was launched may still run."""
        if self._handle:
            for pointer, _ in self._workspaces.values():
                self._lib.mlaf_mem_free(self._handle, pointer)
            self._workspaces = {}
            self._lib.mlaf_ctx_destroy(self._handle)
            self._handle = PTR()

    __del__ = close

    def __enter__(self):
        return self

    def __exit__(self, *what):
        self.close()

    def check(self, status):
        if status:
            text = ctypes.create_string_buffer(4096)
            self._lib.mlaf_ctx_last_message(self._handle, text, len(text))
            raise MlafError(self._lib.mlaf_status_name(status).decode(), text.value.decode(errors="replace"))

    @property
    def target(self):
        return self._lib.mlaf_ctx_target(self._handle).decode()

    @property
    def device_name(self):
        return self._lib.mlaf_ctx_device_name(self._handle).decode()

    # --- device memory, for callers that have no tensor library ---
    def alloc(self, size):
        pointer = PTR()
        self.check(self._lib.mlaf_mem_alloc(self._handle, size, ctypes.byref(pointer)))
        return pointer.value

    def free(self, pointer):
        self.check(self._lib.mlaf_mem_free(self._handle, pointer))

    def write(self, pointer, data):
        self.check(self._lib.mlaf_mem_write(self._handle, pointer, bytes(data), len(data)))

    def read(self, pointer, size):
        data = ctypes.create_string_buffer(max(size, 1))
        self.check(self._lib.mlaf_mem_read(self._handle, data, pointer, size))
        return data.raw[:size]

    def sync(self, stream=None):
        self.check(self._lib.mlaf_sync(self._handle, stream))

    # --- plans ---
    def _plan(self, problem):
        """One reference, to be released. batch and ctx are rounded up to powers of two by the library's registry."""
        p, plan = Problem(ctypes.sizeof(Problem), *problem), PTR()
        self.check(self._lib.mlaf_plan_get(self._handle, ctypes.byref(p), ctypes.byref(self._plan_opts), ctypes.byref(plan)))
        return plan

    def plan_info(self, problem):
        """What serves a problem (heads, rank, rope, q_len, causal, dtype, page_size, batch, ctx), as a dictionary."""
        plan = self._plan(problem)
        try:
            info = PlanInfo(struct_size=ctypes.sizeof(PlanInfo))
            self.check(self._lib.mlaf_plan_query(plan, ctypes.byref(info)))
            return {name: value.decode() if isinstance(value, bytes) else value
                    for name, value in ((field[0], getattr(info, field[0])) for field in PlanInfo._fields_)}
        finally:
            self._lib.mlaf_plan_release(plan)

    def forget_plans(self):
        self._lib.mlaf_plan_forget(self._handle)

    def _workspace(self, stream, size):
        """One workspace a stream, grown when it must be; launches on one stream follow each other, so they may share it."""
        pointer, have = self._workspaces.get(stream, (None, 0))
        if have < size:
            self.sync(stream)
            if pointer:
                self.free(pointer)
            self._workspaces.pop(stream, None)
            pointer = self.alloc(size)
            self._workspaces[stream] = (pointer, size)
        return pointer

    def execute(self, problem, stream=None, **arguments):
        """Launch on `stream` (an address; None: the default stream). Arguments as mlaf_execute_args has them, pointers as addresses.
        The first launches of a stream may allocate its workspace: run once before a graph capture."""
        plan = self._plan(problem)
        try:
            size = self._lib.mlaf_plan_workspace_size(plan, arguments["total_q"])
            with self._lock:
                workspace = self._workspace(stream, size) if size else None
            args = ExecuteArgs(struct_size=ctypes.sizeof(ExecuteArgs), workspace=workspace, workspace_size=size, **arguments)
            self.check(self._lib.mlaf_execute(plan, ctypes.byref(args), stream))
        finally:
            self._lib.mlaf_plan_release(plan)


_default, _default_lock = None, threading.Lock()


def default_context():
    """The context of calls that name none: $MLAF_DEVICE (auto), the user's database, $MLAF_BUNDLE if set."""
    global _default
    with _default_lock:
        if _default is None:
            _default = Context(device=os.environ.get("MLAF_DEVICE"))
        return _default


def set_default_context(context):
    global _default
    with _default_lock:
        _default = context
