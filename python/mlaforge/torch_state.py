"""PyTorch's state while an entry point is called: it may trace, or record operations for a backward pass, which kernels here do not have."""
import importlib
import re
import sys
import warnings

from .library import fast
from .tensors import fail

TRACES, RECORDS = 1, 2


def has_operators(torch):
    """True of a PyTorch of 2.6 and later, which registers operators as torch_ops.py does; older ones make plain calls."""
    found = re.match(r"(\d+)\.(\d+)", getattr(torch, "__version__", ""))
    return found is not None and tuple(map(int, found.groups())) >= (2, 6)


class _WhenImported:
    """A finder of sys.meta_path: registers PyTorch's operators behind the import of torch, then leaves."""

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name != "torch":
            return None
        spec = next(filter(None, (other.find_spec(name, path, target) for other in sys.meta_path if other is not cls)), None)
        run = getattr(spec and spec.loader, "exec_module", None)
        if run is not None:  # whoever only asks whether there is a torch gets a spec as good as the finder's own
            def run_and_register(module):
                run(module)
                if cls in sys.meta_path:
                    sys.meta_path.remove(cls)
                    cls.register(module)
            spec.loader.exec_module = run_and_register
        return spec

    @staticmethod
    def register(torch):
        try:
            if has_operators(torch):
                importlib.import_module(".torch_ops", __package__)
        except Exception as why:  # a program's import of torch must not fail by it
            warnings.warn(f"mlaforge's entry points are no operators of PyTorch: {type(why).__name__}: {why}", stacklevel=2)


def operators():
    """Registers PyTorch's operators: now if torch was imported, else as soon as it is."""
    if "torch" not in sys.modules:
        sys.meta_path.insert(0, _WhenImported)
    elif has_operators(sys.modules["torch"]):
        importlib.import_module(".torch_ops", __package__)


def _mode():
    torch = sys.modules.get("torch")
    if not hasattr(torch, "compiler") or not hasattr(torch.compiler, "is_compiling"):
        return None
    return TRACES if torch.compiler.is_compiling() or _is_seen(torch) else RECORDS if torch.is_grad_enabled() else None


def _is_seen(torch):
    """True while something of PyTorch's would see an operator, and not what a plain call does: a dispatch mode (fake tensors, make_fx), a transform of
    torch.func, a tracer of TorchScript."""
    inner = getattr(torch, "_C", None)
    asked = (inner, "_len_torch_dispatch_stack"), (getattr(inner, "_functorch", None), "peek_interpreter_stack"), (inner, "_get_tracing_state")
    return any(getattr(of, name)() for of, name in asked if hasattr(of, name))


def mode():
    """TRACES, RECORDS, or None: a plain call. The first call puts the compiled module's function in this one's place."""
    global mode
    module = fast()
    mode = module.mode if module is not None else _mode
    return mode()


def traced(function, args, named):
    """The result of an entry point for a tracer that runs Python (torch.export): its operator is recorded."""
    from . import torch_ops  # noqa: F401: it gives entry points what is traced in their place
    return function._torchdynamo_inline(*args, **named)


def gradient_wanted(named):
    """The error's text for the first of these arguments, or members of pairs, that requires a gradient; None: there is none."""
    torch, wants = sys.modules["torch"], lambda tensor: getattr(tensor, "requires_grad", False)
    if not torch.compiler.is_compiling() and torch.autograd.forward_ad._current_level >= 0:  # tangents are made: torch.func.jvp
        wants = lambda tensor: torch.is_tensor(tensor) and (tensor.requires_grad or torch.autograd.forward_ad.unpack_dual(tensor).tangent is not None)
    for name, value in named.items():
        for tensor in value if isinstance(value, (tuple, list)) else (value,):
            if wants(tensor):
                return f"{name} requires a gradient, and kernels here have no backward pass: call under torch.no_grad(), or hand over {name}.detach()"
    return None


def refuse_gradients(named):
    """Raises MlafError with gradient_wanted's text, if there is one."""
    why = gradient_wanted(named)
    if why:
        fail(why)


def watched(function, values):
    """The part of an entry point that returns something, while mode() is not None: its result where it is traced, else None."""
    if mode() == TRACES:
        return traced(function, (), values)
    refuse_gradients(values)
    return None
