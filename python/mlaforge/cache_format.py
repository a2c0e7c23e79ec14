"""The formats of latent caches (gen/formats.lua): which one a tensor holds, and how long its rows are."""
from typing import NamedTuple

from . import formats
from .tensors import SIZES, dtype_name, fail


class Format(NamedTuple):
    name: str          # the word that problems have for it
    latent: str        # type of the latent's numbers; "dtype" is the problem's
    scale: str         # "none"; "launch": one factor for all; "stored": in the rows
    second: tuple      # what lies in the second of a pair of tensors: in words, type, bytes of a row; None: there is one tensor
    unit: int          # bytes of an element of the cache's tensor
    row: tuple         # bytes of a row there: rank times, rope dim times, and as they are
    token: tuple       # the same in all tensors
    operations: dict   # that take it, with its number there
    plain: tuple       # targets where bytes without a type hold it
    behind: bool       # a page has parts of its tokens behind its rows, where callers shape a row with them

    @property
    def own_columns(self):
        """True if a token has as many columns whatever the problem says."""
        return self.row[0] == 0

    def columns(self, rank, rope):
        """Elements of a row."""
        return _bytes(self.row, rank, rope) // self.unit

    def of_second(self, rank, rope, wide):
        """Columns of a row of the second tensor, their type (wide: the problem's), and units that strides count in a column."""
        _, stored, row = self.second
        dtype = wide if stored == "dtype" else "float32"
        return _bytes(row, rank, rope) // SIZES[dtype], dtype, SIZES[dtype] // self.unit


def _bytes(extent, rank, rope):
    return extent[0] * rank + extent[1] * rope + extent[2]


FORMATS = tuple(Format(*row) for row in formats.FORMATS)
PAIR_16 = next(f for f in FORMATS if f.second and f.scale == "none")
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


def of_tensor(operation, dtype, row, rank, rope, wide, target, said=None):
    """The format of one tensor of type `dtype` with rows of `row` elements; None: it is none that the operation takes. wide: the
    problem's type. said: its name; None: the first whose rows are so long."""
    for f in taken_by(operation):
        if f.second or row != f.columns(rank, rope) or said not in (None, f.name):
            continue
        if f.scale == "launch" and f == with_one_scale(dtype, target) or f.scale == "stored" and dtype == "uint8" or \
                f.scale == "none" and dtype == wide:
            return f
    return None


def of_bytes(name, cache, columns, rank, target, said=None):
    """The number that mla_decode has for what an 8-bit cache holds, of queries of so many columns; 0: it is none of 8 bits. said: its format's
    name; None: the first whose rows are so long."""
    number("cache_format", said)  # known
    dtype, row = dtype_name(cache, name), cache.shape[-1] if len(cache.shape) else 0
    as_long = [f for f in taken_by("mla_decode") if not f.second and f.scale != "none" and row == f.columns(rank, columns - rank)]
    first = next((f for f in as_long if f.scale == "stored"), None)  # others of that length are told from it by their names alone
    for f in (f for f in as_long if said in (None, f.name)):
        own = dtype == "uint8" or dtype == "float8_" + f.latent
        if own and (said or f == first if f.scale == "stored" else f == with_one_scale(dtype, target)):
            return f.operations["mla_decode"] - 1  # paged and split are 0 there
    if dtype != "uint8" and not dtype.startswith("float8"):
        return 0
    sizes = ", ".join(f"{f.columns(rank, columns - rank)} ({f.name})" for f in taken_by("mla_decode") if f.scale != "none" and not f.second)
    fail(f"{name} is {dtype} with rows of {row} bytes" + (f": {why}" if (why := refusal_of_rows("mla_decode", row, rank, columns - rank)) else
         f"; of {rank} + {columns - rank} columns they have {sizes}"))


def of_pair(operation, pair, dtype):
    """The format of a pair of tensors beside 16-bit numbers of that type: by its latent's type, then the second one's. None: it is none that the
    operation takes."""
    latent, second = (dtype_name(tensor, "the cache") for tensor in pair)
    found = [f for f in taken_by(operation) if f.second and (latent in ("uint8", "float8_" + f.latent) if f.latent != "dtype" else latent == dtype)]
    return next((f for f in found if f.of_second(0, 0, dtype)[1] == second), found[0] if found else None)


def of_bytes_in_two(operation):
    """Names of the formats of 8 bits that are a pair of tensors."""
    return [f.name for f in taken_by(operation) if f.second and f.scale != "none"]


def number(name, word):
    """The number that mla_decode has for an 8-bit format; None: 0, of 16 bits."""
    numbers = {f.name: f.operations["mla_decode"] - 1 for f in taken_by("mla_decode") if f.scale != "none"}
    if word is not None and word not in numbers:
        fail(f"{name} is {word!r}; accepted are None, " + ", ".join(map(repr, numbers)))
    return numbers[word] if word else 0
