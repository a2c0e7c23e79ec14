"""Helpers of the entry points that tools/args.lua writes: tensors as members of the library's structs, and the call."""
from .calls import current_stream
from .tensors import check_sums, check_tensor, row_stride

DTYPES = {"bfloat16": "bf16", "float16": "f16"}


def up(size, step):
    """size / step, rounded up."""
    return -(-size // step)


def tuned(rows, most):
    """The size that a plan for so many rows is made for: a power of two. It serves any number."""
    return min(1 << max(rows - 1, 0).bit_length(), most)


def rows_of(name, member, tensor, dtype, shape, axes):
    """A tensor of dense rows: its address, and a stride for each of the axes, the first dimensions."""
    check_tensor(name, tensor, dtype, *shape)
    strides = {f"{member}_{axis}_stride": row_stride(tensor, dim, name) for dim, axis in enumerate(axes)}
    return {member: tensor.data_ptr(), **strides}


def any_of(name, member, tensor, shape, axes):
    """A float32 tensor of two dimensions with any strides; those of a dimension of one may be anything."""
    strides = check_sums(name, tensor, *shape)
    return {member: tensor.data_ptr(), **{f"{member}_{axis}_stride": stride or 1 for axis, stride in zip(axes, strides)}}


def same_place(a, b):
    """True where both tensors are one."""
    return (a.data_ptr(), tuple(a.stride())) == (b.data_ptr(), tuple(b.stride()))


def run(ctx, problem, args, tensor, stream):
    """Launches a plan of the problem on the stream (None: the current one of the tensor's library)."""
    stream = current_stream(tensor) if stream is None else int(getattr(stream, "cuda_stream", stream))
    ctx.run(problem, args, stream or None)
