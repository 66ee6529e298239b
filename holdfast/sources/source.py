"""What a source is: one thing read, on its own cadence, with its own deadline. The runner owns time and failure."""

from typing import Protocol

from holdfast.model.signal import Reading


class Source(Protocol):
    name: str
    every: float  # seconds between two reads
    deadline: float  # seconds after which a read that has not answered makes the source UNKNOWN
    carries: tuple[str, ...]  # names of the signals it is there to bring (so blindness can be told at once)

    def read(self, now: float) -> Reading:
        """Look once. Trouble of one subject goes into `absent`; trouble of all of them into `blind`; never raises
        for what the world does (a missing file, a refused permission, a lost GPU)."""
