"""One call of the library from tensors: by the compiled module _fast where it is there, else by ctypes, with the same checks."""
import ctypes
import struct
import sys
import threading

from .fields import SCALES
from .library import ALLOC_FN, CALL_SIZE, CALL_VIEWS, PTR, Call, library
from .tensors import contiguous, dtype_name, place

DTYPES = {"bfloat16": 0, "float16": 1, "int32": 2, "float32": 3, "int64": 4, "float64": 5, "uint8": 6, "float8_e4m3fn": 8, "float8_e4m3fnuz": 9}
OTHER, UNKNOWN = 7, -2
# mlaf_view of so many dimensions: data, dtype, dims, where, reserved, shape[4], stride[4]
VIEWS = [struct.Struct(f"@Piiii{n}q{32 - 8 * n}x{n}q{32 - 8 * n}x") for n in range(5)]
HEAD, TAIL = struct.Struct("@Ii"), struct.Struct("@iifiP")  # mlaf_call up to its first view, and from q_len to plan
TAIL_AT, ALLOC_AT, FLAGS_AT = Call.q_len.offset, Call.alloc.offset, Call.flags.offset
FLAGS, SCALE_GIVEN = struct.Struct("@I"), 1  # MLAF_CALL_SCALE
FORMAT, FORMAT_AT = struct.Struct("@i"), Call.cache_format.offset
ADDRESS, EMPTY = struct.Struct("@P"), bytes(CALL_SIZE)
# Names of a call's tables by how many there are: lists, or a block table with lengths, perhaps behind qo_indptr.
TABLE_NAMES = {4: ("qo_indptr", "kv_indptr", "kv_indices", "kv_last_page_lens"), 3: ("qo_indptr", "block_table", "seq_lens"),
               2: ("block_table", "cache_seqlens"), 0: ()}  # index lists come by their names
TABLES = {n: [CALL_VIEWS["seq_lens" if name == "cache_seqlens" else name] for name in names] for n, names in TABLE_NAMES.items()}

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
    shape, stride, dtype = tensor.shape, tensor.stride(), tensor.dtype
    code, dims = _codes.get(dtype), len(shape)
    where = place(tensor)
    where = UNKNOWN if where is None else where
    if dims > 4:  # the library says that these are too many
        shape, stride = shape[:4], stride[:4]
    VIEWS[min(dims, 4)].pack_into(memory, at, tensor.data_ptr(), _code(dtype, tensor) if code is None else code, dims, where, 0,
                                  *shape, *stride)


def _even(lists):
    """Index lists [B, q_len, topk], copied where their tokens do not lie one stride apart."""
    if lists is None or len(lists.shape) != 3 or 1 in lists.shape[:2] or lists.stride()[0] == lists.shape[1] * lists.stride()[1]:
        return lists
    return contiguous(lists)


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


def _int32(x):
    return max(-1 << 31, min(x, (1 << 31) - 1))


def _memory():
    """(bytes of a mlaf_call, its address): the thread's own, or new ones while it makes another call."""
    kept = _here.__dict__.pop("memory", None)
    if kept is None:
        memory = bytearray(CALL_SIZE)
        call = Call.from_buffer(memory)
        kept = memory, ctypes.byref(call)
    return kept


def pack(memory, plan_opts, alloc, causal, q_len, mean, scale, workspace, q, cache, o, lse, *tables, rotate=0, rope_table=None, **lists):
    """Fills the bytes of a mlaf_call; returns copies that it points to and nobody else holds. alloc: the address of its function, 0 for none."""
    memory[:] = EMPTY
    HEAD.pack_into(memory, 0, CALL_SIZE, causal)
    if scale is None:
        scale = 0.0
    else:
        FLAGS.pack_into(memory, FLAGS_AT, SCALE_GIVEN)
    try:
        TAIL.pack_into(memory, TAIL_AT, q_len, mean, scale, rotate, plan_opts)
    except (struct.error, OverflowError):  # what does not fit its field is refused there
        TAIL.pack_into(memory, TAIL_AT, _int32(q_len), _int32(mean), scale if abs(scale) < 3e38 else float("inf"), rotate,
                       plan_opts)
    ADDRESS.pack_into(memory, ALLOC_AT, alloc)
    q, pe = q if q.__class__ is tuple else (q, None)
    dense = contiguous(q) if pe is None else q  # kept until the launch is made
    _pack(memory, CALL_VIEWS["q"], dense)
    _pack(memory, CALL_VIEWS["q_pe"], pe)
    if isinstance(cache, tuple) and len(cache) > 2 and isinstance(cache[1], int):  # an 8-bit cache: tensor, format, SCALES
        FORMAT.pack_into(memory, FORMAT_AT, cache[1])
        for name, scale in zip(SCALES, cache[2:]):
            _pack(memory, CALL_VIEWS[name], scale)
        cache = cache[0]
    if isinstance(cache, (tuple, list)) and len(cache) != 2:
        raise ValueError(f"the cache is {len(cache)} tensors, must be one, or two: ckv and kpe")
    cache, kpe = cache if isinstance(cache, (tuple, list)) else (cache, None)
    _pack(memory, CALL_VIEWS["cache"], cache)
    _pack(memory, CALL_VIEWS["cache_kpe"], kpe)
    _pack(memory, CALL_VIEWS["o"], o)
    _pack(memory, CALL_VIEWS["lse"], lse)
    _pack(memory, CALL_VIEWS["workspace"], workspace)
    _pack(memory, CALL_VIEWS["rope_table"], rope_table)
    held = [dense]
    for name, tensor in lists.items():
        if name.endswith("indices"):
            tensor = _even(tensor)
            held.append(tensor)
        _pack(memory, CALL_VIEWS[name], tensor)
    for at, tensor in zip(TABLES[len(tables)], tables):
        _pack(memory, at, tensor)
    return held


def _run_ctypes(handle, plan_opts, causal, q_len, mean, scale, stream, workspace, q, *arguments, **more):
    kept = _memory()
    memory, address = kept
    held = pack(memory, plan_opts, _ALLOC_ADDRESS, causal, q_len, mean, scale, workspace, q, *arguments, **more)
    q = q[0] if q.__class__ is tuple else q
    stream = current_stream(q) if stream is None else int(getattr(stream, "cuda_stream", stream))
    _here.call, _here.held = (q, stream), None
    status = library().mlaf_call_run(handle, address, stream or None)
    _here.call = _here.held = None
    del held
    _here.memory = kept
    return status


NAMES = ("causal", "max_seqlen_q", "mean_kv_len", "sm_scale", "stream", "workspace", "q", "the cache", "the output", "lse")


def named(arguments):
    """(name, value) of a call's arguments from causal on."""
    return list(zip((*NAMES, *TABLE_NAMES[len(arguments) - len(NAMES)]), arguments))


def runners(module=None):
    """The functions that make a call, of the compiled module (None: by ctypes), as (run, flash).

    run(handle, plan_opts, causal, q_len, mean_kv_len, scale, stream, workspace, q, cache, o, lse, *tables), addresses as integers,
    scale None for the default, cache a tensor, a pair, or of 8 bits (tensor, mlaf_kv_format, and one of fields.SCALES after the other), returns the status; it does not wait. flash, None by ctypes, takes
    head_dim_v for q_len and outputs that are None: it returns them, a status, or None where run has to do."""
    return (module.run, module.flash) if module else (_run_ctypes, None)


ROTATE = {"pairs": 1, "halves": 2}
run_more = _run_ctypes  # with rotate and rope_table, or index lists by their names in a mlaf_call, which the compiled module knows nothing of
