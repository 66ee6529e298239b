"""The lines around a line of a job's log, decoded only when a reader asks for them."""

from holdfast.catalog import job_problems
from holdfast.formats.job.line import JobLine, decode, near_stamp
from holdfast.formats.lines.keywords import line_end

CONTEXT_BYTES = 8192
_CONTEXT_LINES = 60
_NEAR_LINES = 8
_TRACEBACKS = (
    b"Traceback",
    b'File "',
    "\N{BOX DRAWINGS LIGHT ARC UP AND RIGHT}".encode(),
    b"above exception",
    b"gnored in",
)
_MESSAGE_LINES = 4
_BOX_LINES = 20
_RULE = "--------------------"
_MOST_OF_A_LINE = 300
_ADVICE_BYTES = 800
_ADVICE_WORDS = (b"try using", b"Try ", b"Please ", b"Solution:", b"Hint:", b"hint:", b"onsider ")


class LineContext:
    """The lines above and below one line. They are decoded on first use."""

    def __init__(self, above: bytes, block: bytes, start: int) -> None:
        self._above, self._block, self._start = above, block, start
        self._lines: list[JobLine] | None = None
        self._near: list[JobLine] | None = None
        self.rows: list[job_problems.JobProblem] = []  # known problems with a keyword in the line

    def text(self) -> bytes:
        text = self._block[max(0, self._start - CONTEXT_BYTES) : self._start]
        return text if len(text) == CONTEXT_BYTES else self._above[-(CONTEXT_BYTES - len(text)) :] + text

    def near_stamp(self) -> float:
        return near_stamp(self.text())

    def lines(self) -> list[JobLine]:
        if self._lines is None:
            self._lines = [decode(raw) for raw in self.text().split(b"\n")[-_CONTEXT_LINES - 1 : -1]]
        return self._lines

    def near(self) -> list[JobLine]:
        """The eight lines above, or all 60 if there may be a traceback among them."""
        if self._near is None:
            text = self.text()
            traced = self._lines is not None or any(mark in text for mark in _TRACEBACKS)
            self._near = (
                self.lines()
                if traced
                else [decode(raw) for raw in text.rsplit(b"\n", _NEAR_LINES + 1)[-_NEAR_LINES - 1 : -1]]
            )
        return self._near

    def heading(self) -> str:
        """The first line of the box around the line, below a rule of dashes; '' without a rule."""
        texts = [line.text for line in self.lines()[-_BOX_LINES:]]
        rule = max((number for number, text in enumerate(texts) if text.strip().startswith(_RULE)), default=None)
        return next((text.strip() for text in texts[rule + 1 :] if text.strip()), "") if rule is not None else ""

    def below(self, stream: str) -> str:
        """The first line below with text, of the same process: some messages begin or continue there."""
        end = line_end(self._block, self._start)
        for raw in self._block[end + 1 : end + 1 + CONTEXT_BYTES].split(b"\n")[:_MESSAGE_LINES]:
            found = decode(raw[:_MOST_OF_A_LINE])
            if found.text.strip(" =-*") and found.stream == stream:
                return found.text.strip()
        return ""

    def lines_below(self) -> list[JobLine]:
        """The next lines, as far as the current block reaches."""
        end = line_end(self._block, self._start)
        below = self._block[end + 1 : end + 1 + _ADVICE_BYTES].split(b"\n")
        return [decode(raw[:_MOST_OF_A_LINE]) for raw in below[:_MESSAGE_LINES]]

    def advice_below(self) -> str:
        """Advice of the program about the error, from the lines right below it."""
        end = line_end(self._block, self._start)
        below = self._block[end + 1 : end + 1 + _ADVICE_BYTES]
        if not any(word in below for word in _ADVICE_WORDS):
            return ""
        lines = [raw for raw in below.split(b"\n")[:_MESSAGE_LINES] if any(word in raw for word in _ADVICE_WORDS)]
        return decode(lines[0]).text.strip() if lines else ""

    def after(self) -> str:
        """The text below the line, as far as the current block reaches."""
        end = line_end(self._block, self._start)
        return self._block[end + 1 : end + 1 + CONTEXT_BYTES].decode("utf-8", "replace")

    def next_line(self) -> bytes:
        """The next line, for messages that were wrapped."""
        end = line_end(self._block, self._start)
        return self._block[end + 1 : line_end(self._block, end + 1)][:400]
