"""Unpickles plain values from untrusted files: dictionaries, lists, numbers, text. Imports and runs nothing."""

import pickle
import pickletools
from typing import Any

MOST_VALUES = 5_000_000  # a dump of 2,000 operations has several hundred thousand values
_TUPLES = {"EMPTY_TUPLE": 0, "TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_EMPTY = frozenset({"EMPTY_LIST", "EMPTY_DICT", "EMPTY_SET", "APPEND", "SETITEM", "REDUCE", "BUILD"})
_ADDING = frozenset({"APPENDS", "SETITEMS", "ADDITEMS", "POP_MARK"})
_MARKED = _ADDING | {"TUPLE", "FROZENSET", "LIST", "DICT", "INST", "OBJ"}
_LIST_MAKERS = {"build_intlist", "build_doublelist", "build_boollist"}


class PickleRefused(ValueError):
    """The pickle is refused or truncated; the message says why."""


def load(data: bytes) -> object:
    try:
        shares = _refuse_shared_tuples(data)
        found = _PlainValues(_Bytes(data)).load()
        if shares:
            _refuse_large(found)
        return found
    except PickleRefused:
        raise
    # A broken pickle can make the unpickler raise nearly any exception; they have no common base class.
    except Exception as error:  # noqa: BLE001
        raise PickleRefused(f"the pickle is broken or cut off: {error}") from None


def _refuse_shared_tuples(data: bytes) -> bool:  # noqa: C901  one branch for each kind of opcode
    """A tuple of two references to a tuple of two references... is small, and takes for ever to hash as a key. So every
    tuple is counted as it is written, with all that it refers to, before anything is made. Whether any list, dictionary
    or tuple is referred to at all."""
    stack: list[int] = []
    marks: list[int] = []
    memo: dict[int, int] = {}
    shares = False
    for opcode, argument, _ in pickletools.genops(data):
        name = opcode.name
        if name == "MARK":
            marks.append(len(stack))
        elif name in _TUPLES:
            _close(stack, len(stack) - _TUPLES[name])
        elif name in _MARKED:
            start = marks.pop()
            if name in ("TUPLE", "FROZENSET"):
                _close(stack, start)
            else:
                stack[start:] = [] if name in _ADDING else [2]
        elif name in ("GET", "BINGET", "LONG_BINGET"):
            stack.append(memo.get(int(str(argument)), 1))
            shares = shares or stack[-1] > 1
        elif name in ("PUT", "BINPUT", "LONG_BINPUT"):
            memo[int(str(argument))] = stack[-1]
        elif name == "MEMOIZE":
            memo[len(memo)] = stack[-1]
        elif name == "DUP":
            stack.append(stack[-1])
            shares = True
        else:
            del stack[max(0, len(stack) - len(opcode.stack_before)) :]
            stack += [2 if name in _EMPTY else 1] * len(opcode.stack_after)
        if stack and stack[-1] > MOST_VALUES:
            raise PickleRefused(f"refused: a tuple stands for more than {MOST_VALUES} values")
    return shares


def _close(stack: list[int], start: int) -> None:
    weight = 2 + sum(stack[start:])
    stack[start:] = [weight]


def _refuse_large(found: object) -> None:
    """Refuses lists and dictionaries that are too large when expanded: they can share and contain themselves."""
    weights: dict[int, int] = {}
    open_: set[int] = set()
    waiting: list[tuple[object, bool]] = [(found, False)]
    while waiting:
        one, seen = waiting.pop()
        if not isinstance(one, dict | list | tuple | set | frozenset) or (not seen and id(one) in weights):
            continue
        inner = [*one.keys(), *one.values()] if isinstance(one, dict) else list(one)
        if seen:
            open_.discard(id(one))
            weights[id(one)] = weight = 1 + sum(weights.get(id(child), 1) for child in inner)
            if weight > MOST_VALUES:
                raise PickleRefused(f"refused: it stands for more than {MOST_VALUES} values")
            continue
        if id(one) in open_:
            raise PickleRefused("refused: a value contains itself")
        open_.add(id(one))
        waiting.append((one, True))
        waiting += [(child, False) for child in inner]


class _Bytes:
    """Input of an unpickler; with `peek` it reads ahead instead of one opcode at a time."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def read(self, count: int = -1) -> bytes:
        end = len(self._data) if count < 0 else self._at + count
        piece = self._data[self._at : end]
        self._at += len(piece)
        return piece

    def peek(self, count: int) -> bytes:
        return self._data[self._at : self._at + count]

    def readline(self) -> bytes:
        end = self._data.find(b"\n", self._at) + 1
        return self.read(end - self._at if end else -1)


class _PlainValues(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if module == "torch.jit._pickle" and name in _LIST_MAKERS:
            return list
        raise PickleRefused(f"refused: the pickle asks to import {module}.{name}, plain values were expected")

    def persistent_load(self, pid: object) -> Any:
        raise PickleRefused("refused: the pickle refers to an object outside of itself")
