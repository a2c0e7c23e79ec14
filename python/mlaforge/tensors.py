"""Tensors as the wrappers take them: data_ptr(), shape, stride(), dtype; get_device() where there is one tells host memory from
the device's without asking the driver. No tensor library is imported."""
import math
import numbers
import operator
import sys
import threading

from .buffers import SIZES, Buffer
from .errors import MlafError
from .fields import PAGE_SIZE


_here = threading.local()  # the device of the call that a thread is making, and what a context for another one is called


def fail(text):
    raise MlafError("MLAF_E_ARG", text)


STYLES = {"pairs": "pairs", "halves": "halves", "gptj": "pairs", "neox": "halves"}


def style_of(name, style, *more):
    """A rope style by the library's word; vLLM's words are taken, too. `more`: other words that are accepted."""
    if style in more:
        return style
    if not isinstance(style, str) or style not in STYLES:
        others = "".join(f", {word!r}" for word in more)
        fail(f"{name} is {style!r}; accepted are 'pairs' (or 'gptj': columns 2i and 2i+1), 'halves' (or 'neox': i and i + P/2){others}")
    return STYLES[style]


def whole(name, value, least, most):
    """`value` as an int; least..most."""
    try:
        number = operator.index(None if isinstance(value, bool) else value)
    except TypeError:
        fail(f"{name} is {value!r}, must be a whole number of {least}..{most}")
    if not least <= number <= most:
        fail(f"{name} is {number}, must be {least}..{most}")
    return number


def span(name, value):
    """(from, to) of a pair of whole numbers, or of one for both."""
    ends = value if isinstance(value, (tuple, list)) else (value, value)
    if len(ends) != 2:
        fail(f"{name} is {value!r}, must be two whole numbers, from and to, or one")
    low, high = (whole(name, x, 1, (1 << 31) - 1) for x in ends)
    if low > high:
        fail(f"{name} is {value!r}, must be from the least to the most")
    return low, high


def expect(ordinal, target):
    """From here on the thread's tensors are to lie on this device, as the tensor library counts them."""
    _here.device, _here.kind = ordinal, "cuda" if target.startswith("sm_") else "hip"


def dtype_name(tensor, name="an argument"):
    """"torch.bfloat16" and "bfloat16" alike."""
    try:
        return str(tensor.dtype).rsplit(".", 1)[-1]
    except AttributeError:
        fail(f"{name} is {type(tensor).__name__}, must be a tensor")


def is_bytes(tensor):
    """True if its numbers are of 8 bits."""
    return dtype_name(tensor) in ("uint8", "float8_e4m3fn", "float8_e4m3fnuz")


def place(tensor):
    """The number of the device that a tensor lies on; -1: host memory; None: its library does not say."""
    try:
        return tensor.get_device()
    except (AttributeError, TypeError, RuntimeError):  # older PyTorch has no answer for the CPU
        return -1 if str(getattr(tensor, "device", "")) == "cpu" else None


def host_kind(value):
    """"a CPU tensor", or whatever else in host memory this is; None: it is no such thing, or does not say."""
    if hasattr(value, "data_ptr"):
        return "a CPU tensor" if place(value) == -1 else None
    if isinstance(value, (numbers.Number, str, type)):
        return None
    if hasattr(value, "__array_interface__"):
        return f"an array of {type(value).__module__.split('.')[0]}"
    on = getattr(value, "__dlpack_device__", None)
    return "an array of DLPack's" if on is not None and on()[0] == 1 else None


def check_place(name, tensor):
    """A kernel that follows an address of host memory, or of a device that it does not reach, ends every later use of its own."""
    where = place(tensor)
    if where is None:
        return
    if where < 0:
        fail(f"{name} lies in host memory (a CPU tensor): move it to the device first")
    if where != _here.device:
        fail(f"{name} lies on device {where}, the context works on device {_here.device}: open one for that device "
             f"(\"{_here.kind}:{where}\")")


def check_tensor(name, tensor, dtype, *shape):
    """Checks a tensor's type (None: any) and shape; a size of None is any. The last dimension has no gaps."""
    if not hasattr(tensor, "data_ptr"):
        kind = host_kind(tensor)
        fail(f"{name} lies in host memory ({kind}): move it to the device first" if kind else f"{name} is {type(tensor).__name__}, must be a tensor")
    if dtype is not None and dtype_name(tensor) != dtype:
        fail(f"{name} is {dtype_name(tensor)}, must be {dtype}")
    check_place(name, tensor)
    have = tuple(tensor.shape)
    if len(have) != len(shape) or any(want is not None and got != want for got, want in zip(have, shape)):
        fail(f"{name} has the shape {have}, must be ({', '.join('any' if n is None else str(n) for n in shape)})")
    if have and have[-1] > 1 and tensor.stride()[-1] != 1:
        fail(f"{name}'s last dimension has the stride {tensor.stride()[-1]}, must be 1")


def check_page(name, cache, said=None, word="page_size"):
    """One rule for the tokens of a page, the second dimension of a cache: in range, and what the caller said of them, if anything."""
    have = cache.shape[1]
    if not PAGE_SIZE[0] <= have <= PAGE_SIZE[1]:
        fail(f"{name} has pages of {have} tokens, must be {PAGE_SIZE[0]}..{PAGE_SIZE[1]}")
    if said is not None and said != have:
        fail(f"{word} is {said}, {name}'s shape says {have}")


def room(tensor):
    """(address, bytes) of a caller's workspace."""
    name = dtype_name(tensor, "workspace")
    check_place("workspace", tensor)
    size = tensor.element_size() if hasattr(tensor, "element_size") else SIZES.get(name)
    if size is None or not is_dense(tensor):
        fail(f"workspace is {name} with the strides {tuple(tensor.stride())}, must be dense and of {', '.join(SIZES)}")
    return tensor.data_ptr(), math.prod(tensor.shape) * size


def check_sums(name, tensor, heads, tokens):
    """float32 [H, T] of any strides: those of heads and of tokens."""
    if dtype_name(tensor, name) != "float32":
        fail(f"{name} is {dtype_name(tensor)}, must be float32")
    check_place(name, tensor)
    if tuple(tensor.shape) != (heads, tokens):
        fail(f"{name} has the shape {tuple(tensor.shape)}, must be ({heads}, {tokens})")
    return row_stride(tensor, 0, name), row_stride(tensor, 1, name)


def row_stride(tensor, dim, name="a tensor"):
    """0, which the library takes for dense, where there is only one row: its stride may be anything. Expanded tensors have none."""
    if tensor.shape[dim] <= 1 or 0 in tensor.shape:
        return 0
    stride = tensor.stride()[dim]
    if stride <= 0:
        fail(f"{name} has a dimension of {tensor.shape[dim]} with the stride {stride}, must be positive: rows have to lie apart; "
             "of an expanded tensor pass .contiguous()")
    return stride


def is_dense(tensor):
    """Row-major without gaps; dimensions of one element may have any stride."""
    expected = 1
    for size, stride in zip(reversed(tuple(tensor.shape)), reversed(tuple(tensor.stride()))):
        if size > 1 and stride != expected:
            return False
        expected *= size
    return True


def contiguous(tensor):
    """The tensor, or its library's dense copy, made in the order of the current stream. Where it makes none the library refuses it."""
    return tensor if is_dense(tensor) or not hasattr(tensor, "contiguous") else tensor.contiguous()


def library_of(tensor):
    """The module that tensors of this kind are of. Their class may be the caller's own."""
    own = next((c for c in type(tensor).__mro__ if "new_empty" in vars(c)), type(tensor))
    return sys.modules.get(own.__module__.split(".")[0])


def empty(ctx, like, shape, dtype):
    """A new tensor of the same library: dtype is a name, or None for that of `like`. A Buffer where the library makes none."""
    if not hasattr(like, "new_empty"):
        return Buffer(ctx, shape, dtype or dtype_name(like))
    if dtype is None:
        return like.new_empty(shape)
    return like.new_empty(shape, dtype=getattr(library_of(like), dtype, dtype))
