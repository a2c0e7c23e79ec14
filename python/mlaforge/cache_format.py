"""The formats of latent caches (gen/formats.lua): which one a tensor holds, and how long its rows are."""
from typing import NamedTuple

from . import formats


class Format(NamedTuple):
    name: str          # the word that problems have for it
    latent: str        # type of the latent's numbers; "dtype" is the problem's
    scale: str         # "none"; "launch": one factor for all; "stored": in the rows
    tensors: int       # 2: the rope columns are a tensor of their own
    unit: int          # bytes of an element of the cache's tensor
    row: tuple         # bytes of a row there: rank times, rope dim times, and as they are
    token: tuple       # the same in all tensors
    operations: tuple  # that take it
    plain: tuple       # targets where bytes without a type hold it

    def columns(self, rank, rope):
        """Elements of a row."""
        return _bytes(self.row, rank, rope) // self.unit


def _bytes(extent, rank, rope):
    return extent[0] * rank + extent[1] * rope + extent[2]


FORMATS = tuple(Format(*row) for row in formats.FORMATS)
ONE_SCALE = tuple(f for f in FORMATS if f.scale == "launch")


def taken_by(operation):
    return tuple(f for f in FORMATS if operation in f.operations)


def refusal(operation, name):
    """Why the operation does not take caches of that format; None: there is no such format, or it does."""
    return formats.REFUSED.get((operation, name))


def refusal_of_rows(operation, row, rank, rope):
    """The same of bytes whose rows are as long as such a format's token; rows of other lengths: None."""
    for f in FORMATS:
        if f.scale == "stored" and row == _bytes(f.token, rank, rope):
            return refusal(operation, f.name)
    return None


def with_one_scale(dtype, target):
    """The format that a tensor of that type holds with one scale for all; None: it holds none."""
    if dtype == "uint8":
        return next((f for f in ONE_SCALE if target in f.plain), None) or next(f for f in ONE_SCALE if not f.plain)
    return next((f for f in ONE_SCALE if dtype == "float8_" + f.latent), None)


def of_tensor(operation, dtype, row, rank, rope, wide, target):
    """The format of one tensor of type `dtype` with rows of `row` elements; None: it is none that the operation takes. wide: the
    problem's type."""
    for f in taken_by(operation):
        if f.tensors > 1 or row != f.columns(rank, rope):
            continue
        if f.scale == "launch" and f == with_one_scale(dtype, target) or f.scale == "stored" and dtype == "uint8" or \
                f.scale == "none" and dtype == wide:
            return f
    return None
