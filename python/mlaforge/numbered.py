"""Contexts, layers and schedules by numbers: what an operator of PyTorch takes in place of objects."""
import itertools
import weakref

from .tensors import fail

_objects, _numbers = weakref.WeakValueDictionary(), itertools.count(1)


def register(thing):
    """A number for `thing`, never used again. It does not keep the thing alive."""
    number = next(_numbers)
    _objects[number] = thing
    return number


def find(number, what):
    """The object of a number; `what` it is, for the error of one that is gone."""
    thing = _objects.get(number)
    if thing is None:
        fail(f"the {what} of a compiled graph is gone: keep it alive as long as the graph")
    return thing
