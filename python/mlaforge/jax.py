"""JAX: decode, append, prefill and merge as XLA FFI calls, under jit and on any platform.

The handlers (jax_ffi.cc) are compiled once, by $CXX or g++, against the headers that jax ships; the result is kept in the cache folder. Arguments are
checked by the entry points of the same names: those of decode where it runs, as a JaxRuntimeError, others while a function is traced. All calls use the
default context ($MLAF_DEVICE), which has to stay open."""
import ctypes
import functools
import hashlib
import math
import os
import shutil
import struct
import subprocess
import tempfile

from .errors import MlafError, needs

needs(__name__, "jax", "numpy")

import jax
import jax.numpy as jnp
import numpy as np

from . import calls, context
from .flashmla import flash_mla_with_kvcache as _flash
from .library import Call, library
from .mla_append import concat_and_cache_mla as _append
from .mla_merge import merge_attn_states as _merge
from .mla_prefill import mla_prefill_varlen as _prefill
from .tensors import fail

__all__ = ["concat_and_cache_mla", "flash_mla_with_kvcache", "merge_attn_states", "mla_prefill_varlen"]

FUNCTIONS = ("mlaf_run", "mlaf_call_run", "mlaf_plan_for", "mlaf_mem_register", "mlaf_mem_unregister", "mlaf_ctx_last_message")
MARK = 40  # of a stand-in for buffer i the address is i + 1, shifted by so many bits


def _folder():
    return os.environ.get("MLAF_CACHE_DIR") or os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "mlaforge")


def _compiled(gpu):
    """The path of the handlers' library for this jax."""
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "jax_ffi.cc")
    with open(source, "rb") as f:
        name = hashlib.sha256(f.read() + f"{jax.__version__} {gpu}".encode()).hexdigest()[:16]
    path = os.path.join(_folder(), f"jax-{name}.so")
    if os.path.exists(path):
        return path
    compiler = os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        fail("there is no C++ compiler for JAX's handlers: install g++, or name one by $CXX")
    os.makedirs(_folder(), exist_ok=True)
    with tempfile.TemporaryDirectory(dir=_folder()) as work:
        made = os.path.join(work, "made.so")
        done = subprocess.run([compiler, "-std=c++17", "-O2", "-fPIC", "-shared", f"-I{jax.ffi.include_dir()}", *(["-DMLAF_JAX_GPU"] if gpu else []), source,
                               "-o", made], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            fail(f"{compiler} could not compile {source}: {done.stdout[-1500:]}")
        os.replace(made, path)
    return path


@functools.lru_cache(None)
def _registered():
    """The context of all calls, once its handlers are known to XLA."""
    ctx = context.default_context()
    handlers = ctypes.CDLL(_compiled(not ctx.emulated))
    addresses = [ctypes.cast(getattr(library(), name), ctypes.c_void_p).value for name in FUNCTIONS]
    given = (ctypes.c_int64 * (2 + len(addresses)))(ctx._address, int(ctx.emulated), *addresses)
    handlers.mlaf_jax_bind(given)
    platform = "cpu" if ctx.emulated else "CUDA" if ctx.target.startswith("sm_") else "ROCM"
    for name in ("launch", "decode"):
        jax.ffi.register_ffi_target(f"mlaforge_{name}", jax.ffi.pycapsule(getattr(handlers, f"mlaf_jax_{name}")), platform=platform)
    return ctx


class _Stand:
    """A tensor for the entry points' checks, which has a mark for an address."""

    def __init__(self, ctx, index, shape, dtype):
        self.shape, self.dtype, self._device, self._at = tuple(shape), str(dtype), ctx.ordinal, (index + 1) << MARK

    def data_ptr(self):
        return self._at

    def get_device(self):
        return self._device

    def stride(self):
        return tuple(math.prod(self.shape[i + 1:]) for i in range(len(self.shape)))

    def element_size(self):
        return np.dtype(getattr(jnp, self.dtype)).itemsize


class _Recorder:
    """A context that keeps what would be launched."""

    def __init__(self, ctx):
        self._ctx, self.made = ctx, None

    def __getattr__(self, name):
        return getattr(self._ctx, name)

    def run(self, problem, args, stream=None):
        self.made = "mlaforge_launch", bytes(args), dict(operation=problem.split(":", 1)[0], problem=problem)

    def call_flash(self, *arguments):
        return None

    def call(self, causal, q_len, mean, scale, stream, workspace, *tensors, unsaid=None):
        memory = bytearray(ctypes.sizeof(Call))
        calls.pack(memory, 0, 0, causal, q_len, mean, scale, workspace, *tensors)
        self.made = "mlaforge_decode", bytes(memory), dict(alloc_at=np.int64(calls.ALLOC_AT))


def _places(filled):
    """(offset, buffer, offset in it) of each mark in a structure; and the structure without them."""
    found, clean = [], bytearray(filled)
    for at in range(0, len(filled) - 7, 8):
        value = struct.unpack_from("@Q", filled, at)[0]
        if 0 < value >> MARK < 64:
            found += [at, (value >> MARK) - 1, value & (1 << MARK) - 1]
            struct.pack_into("@Q", clean, at, 0)
    return np.array(found, np.int64), np.frombuffer(bytes(clean), np.uint8)


def _call(entry, inputs, outputs, aliases, **named):
    """Traces an entry point over stand-ins, and calls what it would launch. inputs: arrays by the entry's names, None where there is none; outputs:
    (shape, dtype) by name; aliases: inputs by the outputs that take their memory."""
    ctx = _registered()
    given = {name: x for name, x in inputs.items() if x is not None}
    kinds = {name: (x.shape, "int64" if name in LONG and x.dtype == jnp.int32 else x.dtype) for name, x in given.items()}
    stands = {name: _Stand(ctx, i, *kinds[name]) for i, name in enumerate(given)}
    results = {name: _Stand(ctx, len(given) + i, shape, jnp.dtype(dtype)) for i, (name, (shape, dtype)) in enumerate(outputs.items())}
    recorder = _Recorder(ctx)
    entry(**{**{name: None for name in inputs}, **stands, **results}, **named, ctx=recorder)
    if recorder.made is None:  # nothing to launch
        raise MlafError("MLAF_E_ARG", f"{entry.__name__} has no tokens: XLA's shapes are fixed, so leave the call out")
    target, filled, attributes = recorder.made
    places, filled = _places(filled)
    names = list(given)
    arrays = [_long(x) if kinds[name][1] == "int64" and x.dtype == jnp.int32 else x for name, x in given.items()]
    call = jax.ffi.ffi_call(target, [jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in outputs.values()], vmap_method="sequential",
                            input_output_aliases={names.index(source): list(outputs).index(out) for out, source in aliases.items()})
    return call(*arrays, **attributes, args=filled, places=places)


LONG = ("slot_mapping",)  # int64 of the entry points; without jax_enable_x64 there are no such arrays


def _long(x):
    """int32 [T] as the memory of int64 [T]."""
    return jnp.stack((x, x >> 31), -1)


def flash_mla_with_kvcache(q, k_cache, block_table, cache_seqlens, head_dim_v, softmax_scale=None, causal=False, mean_kv_len=None):
    """(out [B, q_len, H, head_dim_v], lse [B, H, q_len]) of q [B, q_len, H, R+P] over k_cache [blocks, page_size, 1, R+P], as mlaforge's of this name;
    lse of a row without keys is -inf."""
    batch, tokens, heads, _ = q.shape
    out, lse = _call(_flash_dense, dict(q=q, k_cache=k_cache, block_table=block_table, cache_seqlens=cache_seqlens),
                     dict(out=((batch, tokens, heads, head_dim_v), q.dtype), lse=((batch, tokens, heads), jnp.float32)), {}, head_dim_v=head_dim_v,
                     softmax_scale=softmax_scale, causal=causal, mean_kv_len=mean_kv_len)
    return out, lse.transpose(0, 2, 1)


class _Transposed(_Stand):
    """[B, H, q_len] over memory of [B, q_len, H]."""

    def __init__(self, dense):
        batch, tokens, heads = dense.shape
        self.shape, self.dtype, self._device, self._at = (batch, heads, tokens), dense.dtype, dense._device, dense._at

    def stride(self):
        batch, heads, tokens = self.shape
        return heads * tokens, 1, heads


def _flash_dense(*, lse, **named):
    return _flash(**named, lse=_Transposed(lse), empty_lse=-math.inf)


def concat_and_cache_mla(kv_c, k_pe, kv_cache, slot_mapping, kv_cache_dtype="auto", scale=None):
    """kv_cache with the rows kv_c [T, R] and k_pe [T, P] at slot_mapping [T], int32 or int64. Under jit with the cache donated it is written in place."""
    made, = _call(_append_into, dict(kv_c=kv_c, k_pe=k_pe, before=kv_cache, slot_mapping=slot_mapping, scale=scale),
                  dict(kv_cache=(kv_cache.shape, kv_cache.dtype)), {"kv_cache": "before"}, kv_cache_dtype=kv_cache_dtype)
    return made


def _append_into(*, before, **named):
    return _append(**named)


def mla_prefill_varlen(q, k_nope, k_pe, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, softmax_scale=None, causal=False):
    """(out [Tq, H, V], lse [H, Tq]) of q [Tq, H, N+P] over k_nope [Tk, H, N] with k_pe [Tk, P] and v [Tk, H, V], as mlaforge's of this name."""
    outputs = dict(out=((*q.shape[:2], v.shape[2]), q.dtype), lse=((q.shape[1], q.shape[0]), jnp.float32))
    return tuple(_call(_prefill, dict(q=q, k_nope=k_nope, k_pe=k_pe, v=v, cu_seqlens_q=cu_seqlens_q, cu_seqlens_k=cu_seqlens_k), outputs, {},
                       max_seqlen_q=max_seqlen_q, max_seqlen_k=max_seqlen_k, softmax_scale=softmax_scale, causal=causal))


def merge_attn_states(prefix_output, prefix_lse, suffix_output, suffix_lse, base_2=False):
    """(output [T, H, V], lse [H, T]) of two attentions of the same queries, by their logs [H, T], as mlaforge's of this name."""
    inputs = dict(prefix_output=prefix_output, prefix_lse=prefix_lse, suffix_output=suffix_output, suffix_lse=suffix_lse)
    outputs = dict(output=(prefix_output.shape, prefix_output.dtype), output_lse=(prefix_lse.shape, jnp.float32))
    return tuple(_call(_merge, inputs, outputs, {}, base_2=base_2))
