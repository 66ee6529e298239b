"""Log of a process on its standard error. Text of others cannot begin a line or control a terminal."""

import logging
import sys

from holdfast.config.printable import printable

_FORMAT = "%(asctime)s %(levelname)s %(message)s"
_CONTINUED = "\n    "


class LineFormatter(logging.Formatter):
    """One record begins one line. Further lines are indented, so that a name with a line end cannot forge a record."""

    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record)).replace("\n", _CONTINUED)


def to_stderr(level: int, formatter: logging.Formatter | None = None) -> None:
    """Sets up the log of this process; call it once, in an entry point."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter or LineFormatter(_FORMAT))
    logging.basicConfig(level=level, handlers=[handler])
