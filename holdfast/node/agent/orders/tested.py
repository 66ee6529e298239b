"""The mark that this node passed the full suite and has run nothing since: a file that a scheduler's prolog looks for.

`verdict.testing` becomes `verdict.tested` by being renamed. Whoever uses the node (deploy/slurm: the epilog, a start of
slurmd) removes both, so a test that was running at that moment finds nothing to rename. No clock is compared.
It lies beside the verdict file: a reboot empties /run, and the node is untested again.
"""

import logging
import os
from contextlib import suppress
from pathlib import Path

log = logging.getLogger("holdfast.node.agent")


class TestedMark:
    __test__ = False  # no test class, whatever its name says

    def __init__(self, verdict_file: str) -> None:
        self._testing = Path(verdict_file).with_suffix(".testing")
        self._tested = Path(verdict_file).with_suffix(".tested")
        self._begun = False

    def begin(self, words: str) -> None:
        with suppress(OSError):
            self._tested.unlink()
        try:
            self._testing.write_text(words + "\n", encoding="utf-8")
            self._begun = True
        except OSError as error:
            self._begun = False
            log.warning("%s: %s; a prolog that asks for a test will refuse", self._testing, error.strerror)

    @property
    def taken(self) -> bool:
        """Whether the node was used, or its scheduler's daemon started, since the test began."""
        return self._begun and not self._testing.exists()

    def passed(self) -> bool:
        """False if the node was used, or its scheduler's daemon started, while the suite ran."""
        if not self._begun:
            return True  # no mark could be made, so nobody could take it away
        try:
            os.rename(self._testing, self._tested)
        except FileNotFoundError:
            return False
        except OSError as error:
            log.warning("%s: %s; a prolog that asks for a test will refuse", self._tested, error.strerror)
        return True

    def not_passed(self) -> None:
        with suppress(OSError):
            self._testing.unlink()
