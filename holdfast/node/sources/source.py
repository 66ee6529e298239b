"""What a source is: one thing read, on its own cadence, with its own deadline. The runner owns time and failure."""

from typing import Protocol

from holdfast.model.signal import Reading


class Source(Protocol):
    every: float  # seconds between two reads

    @property
    def name(self) -> str: ...
    @property
    def deadline(self) -> float:
        """Seconds after which a read that has not answered makes the source UNKNOWN."""

    @property
    def carries(self) -> tuple[str, ...]:
        """Names of the signals it is there to bring, so that its blindness can be told at once."""

    def read(self, now: float) -> Reading:
        """Look once. Trouble of one subject goes into `absent`; trouble of all of them into `blind`; never raises
        for what the world does (a missing file, a refused permission, a lost GPU)."""
