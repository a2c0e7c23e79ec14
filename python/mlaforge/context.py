"""A context of the library: a device, and the plans made for it."""
import ctypes
import operator
import os
import threading

from .errors import MlafError, Owner
from . import cache_format as cache_formats, calls, host, numbered
from .entry import explained
from .library import (I32, I64, LOG_FN, PTR, U32, CtxOpts, ExecuteArgs, PlanInfo, PlanOpts, Problem, WarmUpOpts, WarmUpResult, fast,
                      library)
from .tensors import expect, fail, room, span, style_of

EFFORT = {"db_only": 0, "estimate": 1, "measure": 2}
NO_COMPILE, TABLES, LIBRARY, BATCH_INVARIANT, LISTS, POOLS = 1, 2, 4, 8, 16, 32
DTYPES = {"bfloat16": 0, "float16": 1}
ADDRESS = range(1 << 63)
ANY_STREAM = ctypes.c_void_p(-1)


def _text(value):
    return None if value is None else os.fsencode(value)


def _one_of(name, value, known):
    """known[value], or an error that names what there is. ctypes and dictionaries would say less, or nothing."""
    key = str(value).rsplit(".", 1)[-1] if name == "dtype" else value  # torch.bfloat16 too
    if not isinstance(key, str) or key not in known:
        raise (ValueError if isinstance(key, str) else TypeError)(
            f"{name} is {value!r}; accepted are {', '.join(known)}")
    return known[key]


def _fit(name, value, kind):
    """ctypes cuts integers to their field without a word."""
    bits = 8 * ctypes.sizeof(kind)
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if kind in (I32, I64) else (0, (1 << bits) - 1)
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is {value!r}, must be a whole number") from None
    if not low <= number <= high:  # a number below 0 that fits is refused by the library, which knows what is wanted
        raise ValueError(f"{name} is {number}, must be 0..{high}")
    return number


def _real(name, value):
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"{name} is {value!r}, must be a number") from None


def _rotate(style):
    """A rope style as mlaf_rotate has it."""
    return calls.ROTATE[style_of("rope_style", style)] if style is not None else 0


def _struct(structure, **values):
    kinds = dict(structure._fields_)
    for name, value in values.items():
        if name not in kinds:
            raise TypeError(f"unknown argument {name}; accepted are {', '.join(kinds)}")
        if kinds[name] in (I32, I64, U32, ctypes.c_size_t):
            values[name] = _fit(name, value, kinds[name])
        elif kinds[name] in (ctypes.c_float, ctypes.c_double):
            values[name] = _real(name, value)
    return structure(struct_size=ctypes.sizeof(structure), **values)


def _closed(*arguments):
    """Stands in for a closed context's calls."""
    fail("the context is closed")


class Context(Owner):
    """Options as mlaf_ctx_opts has them. `log` is called with (level, line). `effort`, `no_compile`, `lengths` and `batch_invariant` hold for every
    plan: by default what is not tuned runs the model's choice, and what is not compiled is compiled at its first use. batch_invariant: what is
    computed of a request has the same bits alone and in any batch (docs/batch-invariance.md).

    Any number of threads may make calls on a context, on one stream or on several, each with outputs of its own; close and forget_plans want
    no other thread in a call. check's text is that of the latest failure, of whatever thread."""

    _handle = _address = _invariant = None  # what close() looks at, however far the constructor gets

    @explained(device=str, db_path=str, cache_dir=str, bundle=str, lengths=str)
    def __init__(self, device=None, db_path=None, cache_dir=None, bundle=None, effort="estimate", no_compile=False, log=None,
                 log_level=1, lengths=None, batch_invariant=False):
        self._lib, self._handle = library(), PTR()
        if log is not None and not callable(log):
            fail(f"log is {log!r}, must be a function of a level and a line")
        self._log = None if log is None else LOG_FN(lambda user, level, line: log(level, line.decode(errors="replace")))
        opts = _struct(CtxOpts, device=_text(device), db_path=_text(db_path), cache_dir=_text(cache_dir), bundle=_text(bundle),
                       log_level=log_level, log=ctypes.cast(self._log, PTR) if self._log else None)
        self._plan_opts = _struct(PlanOpts, effort=_one_of("effort", effort, EFFORT), lengths=_text(lengths),
                                  flags=(NO_COMPILE if no_compile else 0) | (BATCH_INVARIANT if batch_invariant else 0))
        why = ctypes.create_string_buffer(4096)
        status = self._lib.mlaf_ctx_create(ctypes.byref(opts), ctypes.byref(self._handle), why, len(why))
        if status:
            self._handle = None
            raise MlafError(self._lib.mlaf_status_name(status).decode(), why.value.decode(errors="replace"))
        self.use(fast())
        self._address, self._plan_address = self._handle.value, ctypes.addressof(self._plan_opts)
        self._plans = {}  # of other operations, by problem: one reference each
        self.ordinal = self._lib.mlaf_ctx_ordinal(self._handle)
        self.emulated = self._lib.mlaf_ctx_device_id(self._handle).startswith(b"emu:")
        self._target, self.number = self.target, numbered.register(self)

    def close(self):
        """Nothing that was launched may still run, and no graph that holds one of the context's workspaces be replayed."""
        if self._handle:
            self._address, self._run = None, _closed
            self._release_plans()
            if self._invariant:
                self._invariant.forget()
            self._lib.mlaf_ctx_destroy(self._handle)
            self._handle = None  # not PTR(): at the interpreter's exit this module's names may be gone

    __del__ = close

    def __enter__(self):
        return self

    def __exit__(self, *what):
        self.close()

    def check(self, status):
        """Raises MlafError with the context's latest message where `status`, a call's result, is not 0."""
        if status and not self._handle:
            fail("the context is closed")
        if status:
            text = ctypes.create_string_buffer(4096)
            self._lib.mlaf_ctx_last_message(self._handle, text, len(text))
            raise MlafError(self._lib.mlaf_status_name(status).decode(), text.value.decode(errors="replace"))

    @property
    def target(self):
        """The target that kernels are compiled for, e.g. "gfx942" or "sm_90a"."""
        return self._lib.mlaf_ctx_target(self._handle).decode()

    @property
    def device_name(self):
        """The device's name for people."""
        return self._lib.mlaf_ctx_device_name(self._handle).decode()

    # --- device memory, for callers that have no tensor library ---
    def alloc(self, size):
        """The address of `size` new bytes of the device's memory, to be freed by free(). Waits."""
        pointer = PTR()
        self.check(self._lib.mlaf_mem_alloc(self._handle, _fit("size", size, ctypes.c_size_t), ctypes.byref(pointer)))
        return pointer.value

    @explained(pointer=ADDRESS)
    def free(self, pointer):
        """Frees what alloc() returned. Nothing that was launched may still use it."""
        self.check(self._lib.mlaf_mem_free(self._handle, pointer))

    @explained(pointer=ADDRESS)
    def write(self, pointer, data):
        """Copies bytes to the device's memory at `pointer`. Waits until they are there."""
        if not isinstance(data, (bytes, bytearray, memoryview)):
            fail(f"data is {type(data).__name__}, must be bytes")
        self.check(self._lib.mlaf_mem_write(self._handle, pointer, bytes(data), len(data)))

    @explained(pointer=ADDRESS, size=ADDRESS)
    def read(self, pointer, size):
        """`size` bytes of the device's memory from `pointer` on. Waits for the copy, not for launches: sync() first."""
        data = ctypes.create_string_buffer(max(size, 1))
        self.check(self._lib.mlaf_mem_read(self._handle, data, pointer, size))
        return data.raw[:size]

    def sync(self, stream=None):
        """Waits for everything launched on `stream` (an address; None: the default stream)."""
        self.check(self._lib.mlaf_sync(self._handle, stream))

    # --- plans ---
    def _plan(self, problem, flags=0):
        """One reference, to be released. The library's registry rounds batch and ctx up."""
        names = [name for name, _ in Problem._fields_[1:]]
        if not isinstance(problem, (tuple, list)):
            raise TypeError(f"problem is {problem!r}, must be a tuple of numbers ({', '.join(names)})")
        least = names.index("rotate")  # what was added later may be left out
        if not least <= len(problem) <= len(names):
            raise ValueError(f"a problem has {len(names)} numbers ({', '.join(names)}; from rotate on they may be left out), not "
                             f"{len(problem)}")
        p, plan, opts = _struct(Problem, **dict(zip(names, problem))), PTR(), self._plan_opts
        if flags:
            opts = PlanOpts.from_buffer_copy(opts)
            opts.flags |= flags
        self.check(self._lib.mlaf_plan_get(self._handle, ctypes.byref(p), ctypes.byref(opts), ctypes.byref(plan)))
        return plan

    def plan_info(self, problem):
        """The plan that serves a problem (heads, rank, rope, q_len, causal, dtype, page_size, batch, ctx), as a dictionary."""
        plan = self._plan(problem)
        try:
            info = PlanInfo(struct_size=ctypes.sizeof(PlanInfo))
            self.check(self._lib.mlaf_plan_query(plan, ctypes.byref(info)))
            return {name: value.decode() if isinstance(value, bytes) else value
                    for name, value in ((field[0], getattr(info, field[0])) for field in PlanInfo._fields_)}
        finally:
            self._lib.mlaf_plan_release(plan)

    def forget_plans(self):
        """Drops the plans that calls have made, e.g. after tuning: the next call of each shape plans anew."""
        self._lib.mlaf_plan_forget(self._handle)
        self._release_plans()
        if self._invariant:
            self._invariant._release_plans()

    def with_batch_invariance(self):
        """This context, with batch-invariant plans: what calls with batch_invariant=True use."""
        if self._plan_opts.flags & BATCH_INVARIANT:
            return self
        if self._invariant is None:
            self.__dict__.setdefault("_invariant", _BatchInvariant(self))  # of several threads the first one's
        return self._invariant

    def _release_plans(self):
        plans, self._plans = getattr(self, "_plans", {}), {}
        for plan in plans.values():
            self._lib.mlaf_plan_release(plan)

    @explained(problem=str)
    def plan_for(self, problem, flags=0):
        """The plan of a problem string of any operation, e.g. "mla_append:r512,p64,bf16,paged,pairs,t64". The context keeps it."""
        key = (problem, flags) if flags else problem
        plan = self._plans.get(key)
        if plan is None:
            if self._address is None:
                raise MlafError("MLAF_E_ARG", "the context is closed")
            plan, opts = PTR(), PlanOpts.from_buffer_copy(self._plan_opts)
            opts.flags |= flags
            self.check(self._lib.mlaf_plan_for(self._handle, problem.encode(), ctypes.byref(opts), ctypes.byref(plan)))
            mine = self._plans.setdefault(key, plan)
            if mine is not plan:  # another thread's
                self._lib.mlaf_plan_release(plan)
                plan = mine
        return plan

    @explained(heads=int, cache_format=str)
    def warm_up(self, heads, rank=512, rope=64, q_len=1, causal=True, dtype="bfloat16", page_size=64, batch=(1, 256),
                kv_len=(1, 131072), block_tables=True, reserve=False, rope_style=None, cache_format=None, lists=False, pools=False, fp8_q=False, q_parts=False):
        """Plan, compile and load what calls of this shape may need with any batch and mean length of the two ranges; afterwards such
        calls neither plan nor compile. block_tables: those of flash_mla_with_kvcache, too. lists: those with index lists, where kv_len
        are their entries and batch query tokens; with page_size 1; pools: those over two pools, in the same way. cache_format: of
        an 8-bit cache ("e4m3fn", "e4m3fnuz", "fp8_ds_mla" or "fp8_v4", which has rope 0); fp8_q: with q of its type. q_parts: for q in two tensors. reserve: also set aside the workspace that
        the largest of them needs, for the stream that is first to want it (reserve_workspace). Returns what was done as a dictionary:
        plans, kernels, compiles, workspace (bytes), seconds."""
        plan = PlanOpts.from_buffer_copy(self._plan_opts)
        if (lists or pools) and (page_size != 1 or q_len != 1):
            fail(f"{'lists' if lists else 'pools'} is True, page_size {page_size} and q_len {q_len}: both must be 1, since each query token is a request with pages of one token")
        plan.flags |= (TABLES if block_tables else 0) | (LISTS if lists else 0) | (POOLS if pools else 0)
        batch, kv_len = span("batch", batch), span("kv_len", kv_len)
        problem = _struct(Problem, heads=heads, rank=rank, rope=rope, q_len=q_len, causal=1 if causal and q_len > 1 else 0,
                          dtype=_one_of("dtype", dtype, DTYPES), page_size=page_size, batch=batch[0], ctx=kv_len[0],
                          rotate=_rotate(rope_style), cache=cache_formats.number("cache_format", cache_format), fp8_q=1 if fp8_q else 0, q_parts=1 if q_parts else 0)
        opts = _struct(WarmUpOpts, batch_min=batch[0], batch_max=batch[1], ctx_min=kv_len[0], ctx_max=kv_len[1],
                       plan=ctypes.addressof(plan))
        result = WarmUpResult(struct_size=ctypes.sizeof(WarmUpResult))
        self.check(self._lib.mlaf_warm_up(self._handle, ctypes.byref(problem), ctypes.byref(opts), ctypes.byref(result)))
        if reserve:
            self.reserve_workspace(result.workspace)
        return {name: getattr(result, name) for name, _ in WarmUpResult._fields_[1:]}

    # --- launches ---
    @explained(size=ADDRESS)
    def reserve_workspace(self, size, stream=None):
        """Set `size` bytes aside for a stream (an address or an object with cuda_stream; 0: the default stream), or for whichever is
        first to want more than it has (None). Workspaces are kept until the context is closed, as graphs may hold them. PyTorch's
        tensors need none for captures: their graph keeps its own."""
        address = ANY_STREAM if stream is None else int(getattr(stream, "cuda_stream", stream)) or None
        self.check(self._lib.mlaf_workspace_reserve(self._handle, address, _fit("size", size, ctypes.c_size_t)))

    def lend_workspace(self, args, size, like, given, stream):
        """The workspace of a call, into its arguments: the caller's tensor, or memory of PyTorch's own (also while a graph is captured).
        PyTorch's belongs to its current stream: on another one, and without PyTorch, the arguments stay without, and the library takes
        the context's for that stream, which it locks while it launches. Returns what keeps the memory alive: to be held until the
        launches are out. size: a function, called where it is wanted."""
        if given is None and getattr(like, "is_cuda", False) and calls.current_stream(like) == (stream or 0):
            bytes_wanted = size()
            given = like.new_empty(((bytes_wanted + 1) // 2,)) if 0 < bytes_wanted < ctypes.c_size_t(-1).value else None
        if given is not None:
            args.workspace, args.workspace_size = room(given)
        return given

    def use(self, module):
        """Make calls by the compiled module, or by ctypes (None). What a context starts with is the module where it is there."""
        self._run, self._flash = calls.runners(module)
        if self._invariant:
            self._invariant.use(module)

    def call(self, *arguments, rope_style=None, rope_table=None, unsaid=None):
        """mlaf_call_run (include/mlaforge/call.h) with causal, q_len, mean_kv_len, scale, stream (None: the tensor library's current
        one), workspace, q, cache, o, lse, then four lists, or a block table and lengths. unsaid: what a
        cache of bytes whose format was not said comes to: True, an error; None, which is returned, and nothing is launched."""
        if self.emulated:
            arguments = [host.adopt(self, name, x) for name, x in calls.named(arguments)]
            rope_table = host.adopt(self, "rope_table", rope_table)
        if rope_style is None and rope_table is None:
            status = self._run(self._address, self._plan_address, *arguments)
            if status is None and unsaid:
                status = calls.run_more(self._address, self._plan_address, *arguments)  # says what is wrong
        elif rope_style is None or rope_table is None:
            fail(f"rope_style is {rope_style!r} and rope_table {'None' if rope_table is None else 'given'}: a cache whose rope columns are not "
                 "rotated wants both, any other neither")
        else:
            status = calls.run_more(self._address, self._plan_address, *arguments, rotate=_rotate(rope_style),
                                    rope_table=rope_table)
        if status:
            self.check(status)
        return status

    def call_sparse(self, *arguments, **lists):
        """The same with index lists, by their names in a mlaf_call (None: left out), in place of the tables."""
        if self._address is None:
            raise MlafError("MLAF_E_ARG", "the context is closed")
        if self.emulated:
            arguments = [host.adopt(self, name, x) for name, x in zip(calls.NAMES, arguments)]
            lists = {name: host.adopt(self, name, x) for name, x in lists.items()}
        self.check(calls.run_more(self._address, self._plan_address, *arguments, **lists))

    def call_flash(self, *arguments):
        """The same with head_dim_v for q_len, a block table (or the members of flashmla.Lists), outputs that may be None, and whether
        lse of rows without keys is +inf, not -inf: (out, lse), or None where `call` or `call_sparse` has to do."""
        if self._flash is None or self._address is None or self.emulated:
            return None
        made = self._flash(self._address, self._plan_address, *arguments)
        if made.__class__ is int:
            self.check(made)
        return made

    def run(self, problem, args, stream=None):
        """Launch an operation on `stream` (an address; None: the default stream): `problem` is its problem string, `args` its struct of
        arguments."""
        operation = problem.split(":", 1)[0].encode()
        self.check(self._lib.mlaf_run(self.plan_for(problem), operation, ctypes.byref(args), stream))

    def run_library(self, problem, args, like, stream=None):
        """The same where what was tuned may be a vendor's library's product, which may want workspace: PyTorch's memory where `like` is
        its tensor, else the context's for that stream."""
        operation, plan = problem.split(":", 1)[0].encode(), self.plan_for(problem, LIBRARY)
        held = self.lend_workspace(args, lambda: self._lib.mlaf_run_workspace(plan, operation, ctypes.byref(args)), like, None, stream)
        self.check(self._lib.mlaf_run(plan, operation, ctypes.byref(args), stream))
        del held

    def execute(self, problem, stream=None, **arguments):
        """Launch on `stream` (an address; None: the default stream). Arguments as mlaf_execute_args has them, pointers as addresses,
        unchecked. Without `workspace` the context's for this stream is used, by one call at a time; what cannot be captured says so."""
        args = _struct(ExecuteArgs, **arguments)
        plan = self._plan(problem, POOLS if args.extra_indices else LISTS if args.indices else TABLES if args.block_table or args.page_rows or args.page_tokens else 0)
        try:
            self.check(self._lib.mlaf_execute(plan, ctypes.byref(args), stream))
        finally:
            self._lib.mlaf_plan_release(plan)


class _BatchInvariant(Context):
    """Another context's device, workspaces and handle, with plans of its own."""

    def __init__(self, of):
        self.__dict__.update(of.__dict__)
        self._plan_opts = PlanOpts.from_buffer_copy(of._plan_opts)
        self._plan_opts.flags |= BATCH_INVARIANT
        self._plan_address, self._plans, self._owner = ctypes.addressof(self._plan_opts), {}, of
        self.number = numbered.register(self)

    def close(self):
        """Its owner closes."""

    __del__ = close

    def forget(self):
        self._address = self._handle = None
        self._run = _closed
        self._release_plans()


_default, _default_lock = None, threading.Lock()


def default_context():
    """The context of calls that name none: $MLAF_DEVICE (auto: the first GPU, never the emulator), the user's database, $MLAF_BUNDLE
    if set."""
    global _default
    with _default_lock:
        if _default is None:
            _default = Context(device=os.environ.get("MLAF_DEVICE"))
        return _default


def of_call(ctx, batch_invariant=False):
    """The context of a call; the thread's tensors are to lie on its device from here on. What checks tensors begins with it."""
    if ctx is None:
        ctx = _default or default_context()
    if batch_invariant:
        ctx = ctx.with_batch_invariance()
    expect(ctx.ordinal, ctx._target)
    return ctx


def set_default_context(context):
    """Makes `context` the one of calls that name none; None: default_context() makes another at the next call. Returns nothing."""
    global _default
    with _default_lock:
        _default = context
