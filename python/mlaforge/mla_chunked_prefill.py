"""Prefill over a cached context in chunks: new tokens causal, the cache chunk by chunk, merged."""
import ctypes

from . import cache_format, context, numbered
from .buffers import Buffer
from .calls import current_stream
from .context import _rotate, _struct
from .entry import entry, explained
from .errors import Owner
from .fields import PAGE_SIZE
from .library import I32, I64, PTR, ChunkedArgs, ChunkedDesc, GatherArgs, PrefillArgs, library
from .mla_gather_kv_b import FORMATS, _cache, _put_scale, put_table
from .mla_prefill import DTYPES, _put
from .tensors import check_page, check_sums, check_tensor, empty, fail, place, row_stride, whole

__all__ = ["ChunkedPrefill", "prefill_crossover"]

SIZE = ctypes.c_size_t
LAYOUTS = tuple(f.name for f in cache_format.taken_by("mla_gather_kv_b"))
DTYPE_NUMBERS = {"bfloat16": 0, "float16": 1}

_SIGNATURES = {
    "mlaf_chunked_prefill_create": (ctypes.c_int, [PTR, PTR, PTR]),
    "mlaf_chunked_prefill_destroy": (None, [PTR]),
    "mlaf_chunked_prefill_words": (SIZE, [PTR, I32, PTR, PTR]),
    "mlaf_chunked_prefill_schedule": (ctypes.c_int, [PTR, I32, PTR, PTR, PTR, SIZE]),
    "mlaf_chunked_prefill_chunks": (I32, [PTR]),
    "mlaf_chunked_prefill_workspace": (SIZE, [PTR, PTR]),
    "mlaf_chunked_prefill_execute": (ctypes.c_int, [PTR, PTR, PTR]),
    "mlaf_prefill_crossover": (I64, [I32, I32, I32, I64]),
    "mlaf_chunked_prefill_crossover": (I64, [PTR, I64]),
}


def _functions():
    lib = library()
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
    return lib


@explained(rank=int, nope=int, vdim=int, keys=int)
def prefill_crossover(rank, nope, vdim, keys):
    """New tokens of a request from which on expanded keys and values take less arithmetic than the absorbed form over `keys` of context. What a
    device adds to that, ChunkedPrefill.crossover and Layer.prefill_crossover know."""
    return _functions().mlaf_prefill_crossover(rank, nope, vdim, keys)


class Schedule:
    """Which keys are in which chunk: words on the host and on the device, chunks, requests and new tokens."""

    def __init__(self, host, device, chunks, batch, tokens):
        self.host, self.device, self.chunks, self.batch, self.tokens = host, device, chunks, batch, tokens
        self.words = len(host)
        self.number = numbered.register(self)
        self.passed = ctypes.addressof(host), device, batch, self.words  # as the compiled module takes them


def check_schedule(schedule):
    if not isinstance(schedule, Schedule):
        fail(f"schedule is {type(schedule).__name__}, must be what schedule() returned")


def check_open(handle):
    if not handle:
        fail("this is closed: make another one")


def _numbers(name, values):
    """A list of an array or a tensor in host memory; others as they are."""
    if not hasattr(values, "tolist"):
        return values
    if place(values) not in (None, -1):
        fail(f"{name} lies on the device, must be a list, or an array or tensor in host memory: {name}.tolist() waits for the device")
    return values.tolist()


def make_schedule(ctx, lib, handle, whose, new_tokens, context_tokens):
    """By the functions WHOSE_words and WHOSE_schedule."""
    check_open(handle)
    new_tokens, context_tokens = _numbers("new_tokens", new_tokens), _numbers("context_tokens", context_tokens)
    batch = len(new_tokens)
    if len(context_tokens) != batch:
        fail(f"new_tokens has {batch} entries and context_tokens {len(context_tokens)}")
    fresh, cached = ((I32 * max(batch, 1))(*numbers) for numbers in (new_tokens, context_tokens))
    words = getattr(lib, whose + "_words")(handle, batch, fresh, cached)
    host = (I32 * max(words, 1))()
    ctx.check(getattr(lib, whose + "_schedule")(handle, batch, fresh, cached, host, words))
    return Schedule(host, Buffer(ctx, (words,), "int32", bytes(host)), lib.mlaf_chunked_prefill_chunks(host), batch, sum(new_tokens))


class ChunkedPrefill(Owner):
    """heads on this rank; chunk_tokens: keys of a chunk, all requests together, which bound the workspace. layout: of the cache, "paged",
    "split" (a pair of tensors), "fp8_ds_mla", "e4m3fn" or "e4m3fnuz". batch and tokens say what to plan for; any requests are served. crossover: what the
    function of that name shall say; 0: it finds out. rope_style: of a cache whose rope columns are not rotated, "pairs" or "halves".
    batch_invariant: a request's rows have the same bits alone and in any batch."""

    @explained(heads=int, dtype=str, layout=str)
    def __init__(self, heads, nope=128, rope=64, vdim=128, rank=512, dtype="bfloat16", layout="paged", page_tokens=64, chunk_tokens=16384,
                 batch=4, tokens=1024, *, crossover=0, rope_style=None, batch_invariant=False, ctx=None):
        if dtype not in DTYPES:
            fail(f"dtype is {dtype!r}; accepted are {', '.join(DTYPES)}")
        if layout not in LAYOUTS:
            fail(cache_format.refusal("mla_gather_kv_b", layout) or f"layout is {layout!r}; accepted are {', '.join(LAYOUTS)}")
        self._ctx, self._lib, self._handle = context.of_call(ctx, batch_invariant), _functions(), PTR()
        self._dtype, self._layout, self._page, self._style = dtype, layout, whole("page_tokens", page_tokens, *PAGE_SIZE), rope_style
        self._heads, self._nope, self._rope, self._vdim, self._rank = heads, nope, rope, vdim, rank
        self.number = numbered.register(self)
        desc = _struct(ChunkedDesc, heads=heads, nope=nope, rope=rope, vdim=vdim, rank=rank, dtype=DTYPE_NUMBERS[dtype],
                       layout=layout.encode(), page_tokens=page_tokens, chunk_tokens=chunk_tokens, batch=batch, tokens=tokens, crossover=crossover,
                       rotate=_rotate(rope_style), plan=self._ctx._plan_address)
        self._ctx.check(self._lib.mlaf_chunked_prefill_create(self._ctx._handle, ctypes.byref(desc), ctypes.byref(self._handle)))

    def close(self):
        """No launch may be in flight."""
        handle, self._handle = self._handle, None
        if handle:
            self._lib.mlaf_chunked_prefill_destroy(handle)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    @explained(new_tokens=list, context_tokens=list)
    def schedule(self, new_tokens, context_tokens):
        """A schedule of lists of numbers, one for each request. It is copied to the device, and may serve any layer of a step."""
        return make_schedule(self._ctx, self._lib, self._handle, "mlaf_chunked_prefill", new_tokens, context_tokens)

    @explained(keys=int)
    def crossover(self, keys):
        """New tokens of one request over `keys` of context from which on this is faster than the absorbed form, on this device."""
        return self._lib.mlaf_chunked_prefill_crossover(self._handle, keys)

    def _fresh(self, tokens, q, k_nope, k_pe, v, out, lse, scale):
        args = {"scale": (self._nope + self._rope) ** -0.5 if scale is None else float(scale)}
        shapes = {"q": (q, self._nope + self._rope), "k": (k_nope, self._nope), "v": (v, self._vdim), "o": (out, self._vdim)}
        for name, (tensor, columns) in shapes.items():
            check_tensor(name, tensor, self._dtype, tokens, self._heads, columns)
            _put(args, name, tensor)
        if self._rope:
            check_tensor("k_pe", k_pe, self._dtype, tokens, self._rope)
            args.update(k_pe=k_pe.data_ptr(), k_pe_token_stride=row_stride(k_pe, 0, "k_pe"))
        if lse is not None:
            head, token = check_sums("lse", lse, self._heads, tokens)
            args.update(lse=lse.data_ptr(), lse_head_stride=head, lse_token_stride=token)
        return _struct(PrefillArgs, **args)

    def _cached(self, batch, kv_cache, block_table, weight, scale, table):
        args = {"scale": 1.0}
        said = self._layout if FORMATS[self._layout].behind else None  # its rows may be as long as another's
        kind = _cache(args, kv_cache, self._rank, self._rope, self._dtype, self._ctx.target, said)
        if kind != self._layout:
            fail(f"kv_cache has rows of {kind}, and this was made for {self._layout}")
        del args["page_tokens"]
        check_page("kv_cache", kv_cache[0] if self._layout == "split" else kv_cache, self._page, "page_tokens")
        check_tensor("block_table", block_table, "int32", batch, None)
        check_tensor("kv_b_weight", weight, self._dtype, self._heads * (self._nope + self._vdim), self._rank)
        if scale is not None:
            _put_scale(args, scale)
        if self._style is not None or table is not None:
            put_table(args, self._style, table, self._rope)
        return _struct(GatherArgs, **args, table=block_table.data_ptr(), table_width=block_table.shape[1],
                       table_stride=row_stride(block_table, 0, "block_table") or block_table.shape[1], w=weight.data_ptr(),
                       w_row_stride=row_stride(weight, 0, "kv_b_weight"))

    @entry(q="[T, H, N+P]", k_nope="[T, H, N]", k_pe="[T, P]", v="[T, H, V]",
           kv_cache="[pages, page, R+P] or [pages, page, 1, R+P], of a split cache a pair", block_table="[batch, pages]",
           kv_b_weight="[H (N+V), R]", softmax_scale=float, out="[T, H, V]", lse="[H, T]", rope_table="[positions, P]")
    def forward(self, schedule, q, k_nope, k_pe, v, kv_cache, block_table, kv_b_weight, softmax_scale=None, kv_scale=None, out=None,
                lse=None, *, rope_table=None, workspace=None, stream=None):
        """q [T, H, N+P] of the new tokens over their own k_nope [T, H, N], k_pe [T, P] and v [T, H, V], causal, and over all that
        kv_cache [pages, page, R+P] holds of their requests by block_table [batch, pages]. kv_b_weight [H (N+V), R]. lse float32 [H, T].
        rope_table [positions, P] float32: where this was made with a rope_style; q and k_pe come rotated."""
        context.of_call(self._ctx)
        check_open(self._handle)
        check_schedule(schedule)
        tokens = schedule.tokens
        if out is None:
            out = empty(self._ctx, q, (tokens, self._heads, self._vdim), None)
        if not tokens:
            return out
        args = _struct(ChunkedArgs, schedule=ctypes.addressof(schedule.host), schedule_words=schedule.words, schedule_device=schedule.device.data_ptr(),
                       fresh=self._fresh(tokens, q, k_nope, k_pe, v, out, lse, softmax_scale),
                       cached=self._cached(schedule.batch, kv_cache, block_table, kv_b_weight, kv_scale, rope_table))
        stream = (current_stream(q) if stream is None else int(getattr(stream, "cuda_stream", stream))) or None
        held = self._ctx.lend_workspace(args, lambda: self._lib.mlaf_chunked_prefill_workspace(self._handle, schedule.host), q, workspace,
                                        stream)
        status = self._lib.mlaf_chunked_prefill_execute(self._handle, ctypes.byref(args), stream)
        del held
        self._ctx.check(status)
        return out

    __call__ = forward
