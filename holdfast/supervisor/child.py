"""The training command as a child process: output goes to ours, to the attempt's log, and to a callback."""

import os
import selectors
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, BinaryIO

from holdfast.supervisor import processes

_READ_BYTES = 1 << 16
_LONGEST_LINE = 1 << 20

OnLine = Callable[[bytes], None]


class Child:
    """Writes both streams to one log in whole lines, so that errors appear between the steps in which they happened."""

    def __init__(self, command: Sequence[str], environ: Mapping[str, str], log: Path, on_line: OnLine) -> None:
        self._log = log.open("ab", buffering=0)
        self._on_line = on_line
        self.lines = 0  # of the log so far
        self._process = subprocess.Popen(
            command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
            start_new_session=True, preexec_fn=processes.end_with_parent,
        )  # fmt: skip
        self._selector = selectors.DefaultSelector()
        self._open(self._process.stdout, sys.stdout.buffer)
        self._open(self._process.stderr, sys.stderr.buffer)

    @property
    def pid(self) -> int:
        return self._process.pid

    def _open(self, stream: IO[bytes] | None, onward: BinaryIO) -> None:
        assert stream is not None
        os.set_blocking(stream.fileno(), False)
        self._selector.register(stream, selectors.EVENT_READ, _Stream(onward))

    def pump(self, seconds: float) -> int | None:
        """Copies output for at most `seconds`. Returns the exit code once the command has ended; negative for a
        signal."""
        if self._selector.get_map():
            for key, _ in self._selector.select(seconds):
                self._move(key)
        else:
            try:
                self._process.wait(seconds)
            except subprocess.TimeoutExpired:
                return None
        return self._process.poll()

    def _move(self, key: selectors.SelectorKey) -> None:
        stream: _Stream = key.data
        try:
            data = os.read(key.fd, _READ_BYTES)
        except BlockingIOError:
            return
        if not data:
            self._selector.unregister(key.fileobj)
        stream.pass_on(data)
        for line in stream.lines(data):
            self._log.write(line)
            self.lines += 1
            self._on_line(line)

    def signal(self, number: int) -> None:
        self._process.send_signal(number)

    def end(self, grace_seconds: float) -> int:
        """Ends the command and its descendants, reads the remaining output, and returns the exit code."""
        processes.end_all(grace_seconds, spare=self.pid)
        code = self._process.wait()
        while self._selector.get_map() and self._selector.select(0):
            self.pump(0)
        self._selector.close()
        self._log.close()
        return code


class _Stream:
    def __init__(self, onward: BinaryIO) -> None:
        self._onward: BinaryIO | None = onward
        self._carry = b""

    def pass_on(self, data: bytes) -> None:
        if self._onward is None:
            return
        try:
            self._onward.write(data)
            self._onward.flush()
        except BrokenPipeError:  # the reader of our output has gone; the training continues
            self._onward = None

    def lines(self, data: bytes) -> list[bytes]:
        """Returns whole lines; at the end of the stream also the rest."""
        self._carry += data
        if not data or len(self._carry) > _LONGEST_LINE:
            last, self._carry = self._carry, b""
            return [last if last.endswith(b"\n") else last + b"\n"] if last else []
        *whole, self._carry = self._carry.split(b"\n")
        return [line + b"\n" for line in whole]
