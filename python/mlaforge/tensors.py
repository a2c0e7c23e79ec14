"""What the wrappers need of a tensor: data_ptr(), shape, stride(), dtype. No tensor library is imported."""
import sys

from .buffers import Buffer
from .errors import MlafError

DTYPES = {"bfloat16": 0, "float16": 1}


def fail(text):
    raise MlafError("MLAF_E_ARG", text)


def dtype_name(tensor):
    """"torch.bfloat16" and "bfloat16" alike."""
    return str(tensor.dtype).rsplit(".", 1)[-1]


def dtype_of(name, tensor):
    if dtype_name(tensor) not in DTYPES:
        fail(f"{name} is {dtype_name(tensor)}; bfloat16 and float16 are accepted")
    return DTYPES[dtype_name(tensor)]


def want_shape(name, tensor, n):
    if len(tensor.shape) != n:
        fail(f"{name} has shape {tuple(tensor.shape)}; {n} dimensions are expected")
    return tuple(int(x) for x in tensor.shape)


def want_dense(name, tensor):
    """Row-major without gaps; dimensions of one element may have any stride."""
    expected = 1
    for size, stride in zip(reversed(tuple(tensor.shape)), reversed(tuple(tensor.stride()))):
        if size != 1 and stride != expected:
            fail(f"{name} is not contiguous (shape {tuple(tensor.shape)}, strides {tuple(tensor.stride())})")
        expected *= size


def want_int32(name, tensor, least=None):
    if dtype_name(tensor) != "int32":
        fail(f"{name} is {dtype_name(tensor)}, must be int32")
    want_dense(name, tensor)
    if least is not None and int(tensor.shape[0]) < least:
        fail(f"{name} has {int(tensor.shape[0])} entries, at least {least} are expected")


def row_stride(name, cache):
    """Elements between the rows of a cache [pages, page_size, 1, columns]; pages must follow each other row after row."""
    pages, page_size, _, columns = (int(x) for x in cache.shape)
    strides = tuple(int(x) for x in cache.stride())
    stride = strides[1] if page_size > 1 else strides[0]
    if strides[3] != 1 or (pages > 1 and strides[0] != page_size * stride) or stride < columns:
        fail(f"{name} must hold its rows at one distance, with columns side by side (shape {tuple(cache.shape)}, strides {strides})")
    return stride


def stream_of(tensor, stream):
    """The stream named, or the tensor library's current one (PyTorch's, when it is loaded), as an address."""
    if stream is not None:
        return int(getattr(stream, "cuda_stream", stream)) or None
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(tensor, torch.Tensor) and tensor.is_cuda:
        return torch.cuda.current_stream(tensor.device).cuda_stream or None
    return None


def empty(ctx, like, shape, dtype):
    """A new tensor of the same library: dtype is a name, or None for that of `like`. A Buffer where the library makes none."""
    if not hasattr(like, "new_empty"):
        return Buffer(ctx, shape, dtype or dtype_name(like))
    if dtype is None:
        return like.new_empty(shape)
    module = sys.modules.get(type(like).__module__.split(".")[0])
    return like.new_empty(shape, dtype=getattr(module, dtype, dtype))
