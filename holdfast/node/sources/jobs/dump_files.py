"""Reads Flight Recorder dumps in child processes with a memory limit."""

import gc
import resource
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path

from holdfast.formats.pytorch import flight_recorder
from holdfast.formats.pytorch.flight_recorder import Dump

WORKERS = 2
LARGEST_DUMP = 512 << 20
_MEMORY_BYTES = 6 << 30  # a hostile pickle of few bytes may ask for any amount
_AT_ONCE = 16


def read_all(files: Sequence[Path]) -> Iterator[tuple[Path, Dump | str]]:
    """Each file with its dump, or with the reason why there is none, in order."""
    if not files:
        return
    left = list(files)
    while left:
        done = 0
        try:
            with ProcessPoolExecutor(WORKERS, mp_context=get_context("fork"), initializer=_begin) as pool:
                for found in pool.map(_read, left, chunksize=_AT_ONCE if len(left) > _AT_ONCE * WORKERS else 1):
                    yield left[done], found
                    done += 1
        except BrokenProcessPool:  # killed while it read: the one that was next is named, the others are read again
            yield left[done], f"{left[done]}: the process that read it was killed"
            done += 1
        left = left[done:]


def _begin() -> None:
    gc.disable()  # a dump is a hundred thousand values without a cycle: looking for some takes a third of the time
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))


def _read(file: Path) -> Dump | str:
    try:
        if file.stat().st_size > LARGEST_DUMP:
            return f"{file}: larger than a Flight Recorder dump can be ({LARGEST_DUMP >> 20} MB)"
        return flight_recorder.parse(file.read_bytes(), file.name)
    except flight_recorder.NotADump as why:
        return f"{file}: {why}"
    except OSError as why:
        return f"{file}: {why.strerror or why}"
    except MemoryError:
        return f"{file}: it requests more memory than a dump can need"
