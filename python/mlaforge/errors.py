"""The exception that failing calls raise, and the one of a module whose packages are missing."""
import importlib


class MlafError(RuntimeError):
    """`status` is the C API's name, e.g. "MLAF_E_NOT_COMPILED"; `detail` the library's own message. That of an argument, MLAF_E_ARG, is a ValueError, too."""

    def __new__(cls, status, text):
        return super().__new__(ArgumentError if cls is MlafError and status == "MLAF_E_ARG" else cls, status, text)

    def __init__(self, status, text):
        super().__init__(f"{status}: {text}")
        self.status, self.detail = status, text

    def __reduce__(self):
        return type(self), (self.status, self.detail)


class ArgumentError(MlafError, ValueError):
    """An argument is refused."""


class Owner:
    """Objects that own something of the library's: a copy would free it twice."""

    def __reduce_ex__(self, protocol):
        raise TypeError(f"a {type(self).__name__} is not copied or pickled: it owns memory of the library, which one object frees; make another one"
                        + " (a patched model: unpatch it, copy it, and patch both)" * (type(self).__name__ == "Layer"))


def needs(module, *packages):
    """Raises ModuleNotFoundError for the first of these packages that is not installed, with the module that wants it and the command that helps."""
    for name in packages:
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as why:
            if why.name != name:
                raise
            raise ModuleNotFoundError(f"{module} needs {' and '.join(packages)}, and {name} is not installed: pip install {name}", name=name) from None
