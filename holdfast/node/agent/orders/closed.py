"""File that closes this node for new work by order of the controller. The gate reads it.

It is next to the verdict file and stays if the controller is unreachable: a lost connection must not reopen a node.
"""

import logging
import os
from contextlib import suppress
from pathlib import Path

log = logging.getLogger("holdfast.node.agent")


class ClosedMark:
    def __init__(self, verdict_file: str) -> None:
        self._path = Path(verdict_file).with_suffix(".closed")
        self._words: str | None = None

    def set(self, why: str) -> None:
        """'' opens the node."""
        if why == self._words:
            return
        try:
            if why:
                fresh = self._path.with_suffix(".closing")
                fresh.write_text(why + "\n", encoding="utf-8")
                os.replace(fresh, self._path)
            else:
                with suppress(FileNotFoundError):
                    self._path.unlink()
            self._words = why
        except OSError as error:
            log.warning(
                "%s: %s; the gate does not know that this node is %s", self._path, error.strerror, why or "open"
            )
