"""Contexts, layers and schedules by numbers: what an operator of PyTorch takes in place of objects."""
import itertools
import weakref

from .tensors import fail

_objects, _numbers = {}, itertools.count(1)  # a WeakValueDictionary takes several times as long to look one up


def register(thing):
    """A number for `thing`, never used again. It does not keep the thing alive."""
    number = next(_numbers)
    _objects[number] = weakref.ref(thing, lambda gone: _objects.pop(number, None))
    return number


def find(number, what):
    """The object of a number; `what` it is, for the error of one that is gone."""
    found = _objects.get(number)
    thing = None if found is None else found()
    if thing is None:
        fail(f"the {what} of a compiled graph is gone: keep it alive as long as the graph")
    return thing
