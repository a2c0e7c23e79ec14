"""One call of the library from tensors: by the compiled module _fast where it is there, else by ctypes, with the same checks."""
import ctypes
import struct
import sys
import threading

from .library import ALLOC_FN, CALL_SIZE, CALL_VIEWS, PTR, Call, fast, library
from .tensors import contiguous, dtype_name

DTYPES = {"bfloat16": 0, "float16": 1, "int32": 2, "float32": 3, "int64": 4, "float64": 5, "uint8": 6}
OTHER, UNKNOWN = 7, -2
VIEW = struct.Struct("@Piiii8q")  # mlaf_view
NOTHING = (0, 0, 0, 0)
LISTS = [CALL_VIEWS[name] for name in ("qo_indptr", "kv_indptr", "kv_indices", "kv_last_page_lens")]
BLOCK = [CALL_VIEWS[name] for name in ("block_table", "seq_lens")]

_codes, _here = {}, threading.local()  # by type of element; the call a thread is making


def _is_torch(tensor):
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(tensor, torch.Tensor)


def current_stream(tensor):
    """PyTorch's current stream for a tensor of its own on a GPU, as an address; else the default stream."""
    if not _is_torch(tensor) or tensor.get_device() < 0:
        return 0
    return sys.modules["torch"]._C._cuda_getCurrentRawStream(tensor.get_device())


def _code(dtype, tensor):
    code = _codes[dtype] = DTYPES.get(dtype_name(tensor), OTHER)
    return code


def _pack(memory, at, tensor):
    if tensor is None:
        return
    shape, stride, dtype = tuple(tensor.shape), tuple(tensor.stride()), tensor.dtype
    code, dims = _codes.get(dtype), len(shape)
    try:
        where = tensor.get_device()
    except (AttributeError, TypeError):
        where = UNKNOWN
    VIEW.pack_into(memory, at, tensor.data_ptr(), _code(dtype, tensor) if code is None else code, dims, where, 0,
                   *(shape + NOTHING)[:4], *(stride + NOTHING)[:4])


def _alloc(user, size):
    """While a stream captures: memory of the graph's own pool."""
    q, stream = _here.call
    if not _is_torch(q) or current_stream(q) != stream:
        return None
    try:
        _here.held = q.new_empty((size,), dtype=sys.modules["torch"].uint8)
    except RuntimeError:
        return None
    return _here.held.data_ptr()


_ALLOC = ALLOC_FN(_alloc)
_ALLOC_ADDRESS = ctypes.cast(_ALLOC, PTR).value


def _run_ctypes(handle, plan_opts, causal, q_len, mean, scale, stream, workspace, q, cache, o, lse, *tables):
    memory = bytearray(CALL_SIZE)
    call = Call.from_buffer(memory)
    call.struct_size, call.causal, call.q_len, call.mean_kv_len, call.scale, call.plan = CALL_SIZE, causal, q_len, mean, scale, plan_opts
    call.alloc = _ALLOC_ADDRESS
    dense = contiguous(q)  # kept until the launch is made
    _pack(memory, CALL_VIEWS["q"], dense)
    _pack(memory, CALL_VIEWS["cache"], cache)
    _pack(memory, CALL_VIEWS["o"], o)
    _pack(memory, CALL_VIEWS["lse"], lse)
    _pack(memory, CALL_VIEWS["workspace"], workspace)
    for at, tensor in zip(LISTS if len(tables) == 4 else BLOCK, tables):
        _pack(memory, at, tensor)
    stream = current_stream(q) if stream is None else int(getattr(stream, "cuda_stream", stream))
    _here.call, _here.held = (q, stream), None
    status = library().mlaf_call_run(handle, ctypes.byref(call), stream or None)
    _here.call = _here.held = None
    return status


def runner():
    """What makes a call: run(handle, plan_opts, causal, q_len, mean_kv_len, scale, stream, workspace, q, cache, o, lse, *tables),
    addresses as integers; returns the status. It does not wait."""
    module = fast()
    return module.run if module else _run_ctypes
