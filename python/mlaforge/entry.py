"""Shared by all entry points: an emulator adopts arrays in host memory; errors name argument, value and what is wanted."""
import ctypes
import functools
import inspect
import math
import os
import re
import struct

from . import context, torch_state
from .errors import MlafError
from .host import adopt, given, refuse
from .tensors import dtype_name, fail, whole

# The words of the library's messages by the names that entry points have for them.
WORDS = {"the cache": ("kv_cache", "kv_buffer", "k_buffer", "k_cache", "cache"), "the output": ("out", "o"), "o": ("out",), "y": ("out",),
         "the weight": ("kv_b_weight", "kv_proj_weight", "kv_b_proj_weight"), "k": ("k_nope",), "k_nope": ("k",), "the cache's scale": ("scale", "kv_scale", "k_scale"),
         "scale": ("softmax_scale", "sm_scale"), "q_len": ("max_seqlen_q",), "kv_lora_rank": ("rank", "head_dim_v"), "rope dim": ("rope",), "nope dim": ("nope",),
         "value dim": ("v", "vdim"), "page size": ("page_size", "page_tokens"), "batch_max": ("batch",), "batch_min": ("batch",), "ctx_min": ("kv_len",),
         "ctx_max": ("kv_len",), "ctx": ("kv_len",), "requests": ("batch",), "seq_lens": ("cache_seqlens",), "cache_seqlens": ("seq_lens",), "qo_indptr": ("cu_seqlens_q",),
         "the table of cosines": ("cos_sin_cache", "cos_cache"), "the table of sines": ("sin_cache",),
         "ckv": ("k_cache", "kv_buffer", "kv"), "extra_ckv": ("extra_k_cache",), "keys": ("cache",), "w_scale": ("weights_scale",),
         "extra": ("extra_k_cache",), "cache_format": ("is_fp8_kvcache",), "extra_indices": ("extra_indices_in_kvcache",), "q_scale": ("descale_q",), "kv_scale": ("descale_k",)}
LENGTHS = {"topk": "indices", "extra_topk": "extra_indices"}  # members of C's structs that count a tensor's columns
FAULTS = (RuntimeError, AttributeError, TypeError, IndexError, KeyError, ValueError, ZeroDivisionError, OverflowError, ctypes.ArgumentError,
          struct.error)
MOST = (1 << 31) - 1


class Arguments:
    """Kinds of a function's arguments: "[T, d]", perhaps "[T, d] or [T, 1, d]", for a tensor; dict of tensors; int, a range, float, bool, str, object for a
    flag or a name, tuple of two numbers, list of numbers; "stream". Streams and arguments with a number as their default need not be named."""

    def __init__(self, function, kinds):
        self.parameters = inspect.signature(function).parameters
        self.kinds = {name: type(p.default) for name, p in self.parameters.items() if type(p.default) in (int, float, bool)} | kinds
        self.kinds |= {name: kind for name, kind in (("workspace", ""), ("stream", "stream")) if name in self.parameters}
        unknown = set(kinds) - set(self.parameters)
        if unknown:
            raise TypeError(f"{function.__qualname__} has no {', '.join(sorted(unknown))}")

    def explain(self, why, ctx, args, named):
        """Raises `why` in the caller's words: the library's message with the argument's name, or the first argument that is not of its kind.
        ctx: the call's context; None: it has none."""
        if ctx is not None and not hasattr(ctx, "emulated"):
            fail(f"ctx is {shown(ctx)}, must be a mlaforge.Context, or None for the default one")
        on_gpu = ctx is not None and not ctx.emulated
        for name, value in dict(zip(self.parameters, args), **named).items():
            if getattr(getattr(getattr(value, "array", value), "device", None), "type", None) == "meta":
                fail(f"{name} is on the meta device, which has no memory: call under torch.compile, torch.export or a FakeTensorMode")
        detail = self._renamed(why.detail) if isinstance(why, MlafError) else ""
        name, other, rest = detail.partition(" is of another type")
        tensor_of = dict(zip(self.parameters, args), **named).get(name) if other else None
        if hasattr(tensor_of, "dtype"):  # the library knows some types; the tensor knows its own
            detail = f"{name} is {dtype_name(tensor_of)}{rest}"
        said = MlafError(why.status, detail) if detail else why
        try:
            values, found = dict(zip(self.parameters, args), **named), re.split(r"\W", detail or str(why))[0]
            numbers = [name for name, kind in self.kinds.items() if not isinstance(kind, str) and kind not in (dict, list) or kind == "stream"]
            if found not in numbers:  # a number that is none may be why a tensor's shape is not as wanted
                self._refuse([name for name in numbers if self.kinds[name] is not float or not hasattr(values.get(name), "shape")], values, why, on_gpu)
            if found in self.parameters:
                raise said from None
            self._refuse(self.kinds, values, why, on_gpu)
            raise said from (None if detail else why.__cause__)
        finally:  # tracebacks hold frames: one that holds its exception, here or by locals(), keeps a refused call's tensors until it is collected
            said = why = None
            named.pop("why", None)

    def _refuse(self, names, values, why, on_gpu):
        """Raises for the first of these arguments that is not of its kind."""
        for name in names:
            kind, default = self.kinds[name], self.parameters[name].default
            value = values.get(name, default)
            if value is default:
                continue
            if kind is int and isinstance(why, ZeroDivisionError):
                kind = range(1, MOST + 1)
            if (kind is float and isinstance(value, (int, float)) and isinstance(why, (ValueError, OverflowError)) and not isinstance(why, MlafError)
                    and not abs(value) < 1 << 63):
                raise MlafError("MLAF_E_ARG", f"{name} is {value}, must be a number below 2**63") from None
            try:
                check(name, kind, value, on_gpu)
            except MlafError as named_one:
                raise named_one from None

    def _member(self, found):
        """Says a member of C's structs in the caller's words: an argument's stride, or its columns."""
        stem = found.group(1) or LENGTHS[found.group()]
        ours = [name for name in (stem, *WORDS.get(stem, ())) if name in self.parameters]
        if not ours or found.group() in self.parameters:
            return found.group()
        return f"{ours[0]}'s {found.group(2)} stride" if found.group(1) else f"{ours[0]}'s last dimension"

    def _renamed(self, text):
        """`text` with the argument's name for the library's word that it begins with, perhaps behind a struct's name."""
        for word in ("the cache", "the output"):
            ours = [name for name in WORDS[word] if name in self.parameters]
            text = re.sub(word + r"(?=[ ,])", ours[0], text) if ours else text
        text = re.sub(r"\b(\w+?)_([a-z]+)_stride\b|^(?:extra_)?topk\b", self._member, text)
        found = re.match(r"(?:mlaf_\w+: )?(the cache's scale|the (?:table of )?\w+|\w+ dim|page size|\w+)(?='s |,? (?:is|has|lies)\b| \()", text)
        if not found or found.group(1) in self.parameters:
            return text
        known = [name for name in WORDS.get(found.group(1), ()) if name in self.parameters]
        return known[0] + text[found.end():] if known else text


def shown(value):
    """A value in an error: of a tensor its shape."""
    return f"a {type(value).__name__} of the shape {tuple(value.shape)}" if hasattr(value, "shape") else repr(value)


def check(name, kind, value, on_gpu=False):
    """An error where `value` is not of its kind."""
    if kind is int or isinstance(kind, range):
        whole(name, value, kind[0] if kind is not int else 0, kind[-1] if kind is not int else MOST)
    elif kind is float:
        if isinstance(value, (str, type)) or not (hasattr(value, "__float__") or hasattr(value, "__index__")):
            fail(f"{name} is {value!r}, must be a number")
        if math.prod(getattr(value, "shape", ())) != 1:
            fail(f"{name} has the shape {tuple(value.shape)}, must be a number")
    elif kind is bool:
        if not (isinstance(value, int) and value in (0, 1)) and type(value).__name__ != "bool":  # NumPy has one of its own
            fail(f"{name} is {shown(value)}, must be True or False")
    elif kind is object:
        if hasattr(value, "shape"):
            fail(f"{name} is {shown(value)}, must be True, False or a name")
    elif kind is tuple:
        if value is not None and (not isinstance(value, (tuple, list)) or len(value) < 2):
            fail(f"{name} is {shown(value)}, must be two numbers")
    elif kind == "stream":
        whole(name, getattr(value, "cuda_stream", value), 0, (1 << 64) - 1)
    elif kind is str:
        if not isinstance(value, (str, bytes, os.PathLike)):
            fail(f"{name} is {value!r}, must be a string")
    elif kind is list:
        if not hasattr(value, "__len__") or isinstance(value, (str, bytes, dict)):
            fail(f"{name} is {value!r}, must be a list of whole numbers")
        for i, x in enumerate(value):
            whole(f"{name}[{i}]", x, 0, MOST)
    elif kind is dict:
        if not hasattr(value, "items"):
            fail(f"{name} is {type(value).__name__}, must be a dictionary of tensors by their names")
        refuse(name, value) if on_gpu else None
    elif "pair" in kind and isinstance(value, (tuple, list)) and len(value) == 2:
        for i, part in enumerate(value):
            tensor(f"{name}[{i}]", "", part, on_gpu)
    else:
        tensor(name, kind, value, on_gpu)


def tensor(name, kind, value, on_gpu):
    """An error where `value` is no tensor of so many dimensions; kind "": of any shape."""
    if on_gpu:
        refuse(name, value)
    if value is None and kind.endswith("None") or hasattr(value, "__dlpack__") and not hasattr(value, "shape"):
        return
    if not hasattr(value, "shape") or not any(hasattr(value, a) for a in ("data_ptr", "__array_interface__", "__dlpack__")):
        fail(f"{name} is {'None' if value is None else type(value).__name__}, must be a tensor {kind}".rstrip())
    if kind and len(value.shape) not in {part.count(",") + 1 for part in re.findall(r"\[[^]]*\]", kind)}:
        fail(f"{name} has the shape {tuple(value.shape)}, must be {kind}")


def explained(**kinds):
    """An entry point that takes no tensors."""
    def decorate(function):
        arguments = Arguments(function, kinds)

        @functools.wraps(function)
        def call(*args, **named):
            try:
                return function(*args, **named)
            except FAULTS as why:
                arguments.explain(why, named.get("ctx"), args, named)
        return call
    return decorate


def _adopted(ctx, function, names, args, named):
    """The call with arrays in host memory for the emulator `ctx`."""
    taken = [adopt(ctx, name, value) for name, value in zip(names, args)] + list(args[len(names):])
    return given(function(*taken, **{name: adopt(ctx, name, value) for name, value in named.items()}))


def entry(**kinds):
    """An entry point: a function or a constructor with ctx=, or a method of what has a _ctx. On an emulator it takes arrays in host memory
    (host.py), on a GPU it refuses them by the name of their argument."""
    def decorate(function):
        arguments = Arguments(function, kinds)
        names = tuple(arguments.parameters)
        method = names[0] == "self" and function.__name__ != "__init__"

        @functools.wraps(function)
        def call(*args, **named):
            ctx = args[0]._ctx if method else named.get("ctx")
            if ctx is None:
                ctx = context._default or context.default_context()
            state = torch_state.mode()
            if state:
                if state == torch_state.TRACES:
                    return torch_state.traced(call, args, named)
                torch_state.refuse_gradients(dict(zip(names, args), **named))
            try:
                return _adopted(ctx, function, names, args, named) if ctx.emulated else function(*args, **named)
            except FAULTS as why:
                arguments.explain(why, ctx, args, named)
        return call
    return decorate
