"""Pickles of plain values from untrusted hands: dictionaries, lists, numbers, text. Nothing is imported, none runs."""

import pickle
from typing import Any

_LIST_MAKERS = {"build_intlist", "build_doublelist", "build_boollist"}


class PickleRefused(ValueError):
    """One sentence: what the pickle wanted, or where it broke off."""


def load(data: bytes) -> object:
    try:
        return _PlainValues(_Bytes(data)).load()
    except PickleRefused:
        raise
    # A broken pickle can make the unpickler raise nearly anything; there is no base class to name.
    except Exception as error:  # noqa: BLE001
        raise PickleRefused(f"the pickle is broken or cut off: {error}") from None


class _Bytes:
    """What an unpickler reads from; with `peek` it fetches ahead instead of asking for every opcode."""

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
