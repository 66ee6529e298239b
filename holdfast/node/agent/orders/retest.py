"""The order `retest`: run the full suite, and mark the node as tested if it passes.

The mark is a file that a scheduler's prolog looks for: this node passed the full suite and has run nothing since.
`verdict.testing` is renamed to `verdict.tested`. Every use of the node (deploy/slurm: the epilog, a start of slurmd)
removes both files, so a test that runs at that moment finds nothing to rename. No clocks are compared. The files are
next to the verdict file: a reboot empties /run, and the node is untested again.
"""

import logging
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from holdfast.model.health import Health
from holdfast.model.settings import Settings
from holdfast.model.wire.report import LONGEST_TEXT, OrderOutcome
from holdfast.node.agent.orders.handler import Order, OrderAction
from holdfast.node.agent.suite import SuiteResult
from holdfast.runtime import codec, process
from holdfast.runtime.errors import NoAnswer

log = logging.getLogger("holdfast.node.agent")
_USED = "the node was used, or its scheduler started, while the suite ran"


def retest(settings: Settings, refresh: Callable[[], bool] = lambda: True) -> OrderAction:
    """Run the bootstrap suite in its own process, with a time budget.

    `refresh` brings the agent's own verdicts up to date: one from before the repair must not contradict the test.
    """
    mark = TestedMark(settings.agent.verdict_file)

    def perform(order: Order, now: float) -> OrderOutcome:
        mark.begin(f"order {order.id}")
        outcome = _run_suite(settings, order, now, lambda: _USED if mark.taken else "")
        if outcome.health not in (Health.PASS.value, Health.DEGRADED.value):
            mark.not_passed()
            return outcome
        refresh()
        if not mark.passed():
            return _unknown(order, now, _USED)
        return outcome

    return OrderAction(perform=perform, repeatable=True)


def _run_suite(settings: Settings, order: Order, now: float, cancelled: Callable[[], str]) -> OrderOutcome:
    """The suite ends at once when the node is used: a suite that loads GPUs must not share them with a job."""
    command = (sys.executable, "-m", "holdfast.node.agent.suite", msgspec.json.encode(settings).decode())
    try:
        answer = process.run(command, os.environ, settings.controller.retest_budget_seconds, cancelled)
        if answer.code != 0:
            return _unknown(order, now, f"the suite ended with exit code {answer.code}: {answer.message}")
        found = codec.decode(answer.out, SuiteResult)
    except NoAnswer:
        if why := cancelled():
            return _unknown(order, now, why)
        budget = settings.controller.retest_budget_seconds
        return _unknown(order, now, f"the suite did not end within its {budget:g} s")
    except (msgspec.DecodeError, RecursionError) as error:
        return _unknown(order, now, f"the suite's output cannot be read: {error}")
    return OrderOutcome(
        order=order.id,
        verb=order.verb,
        ok=True,
        health=found.health.value,
        cause=found.cause,
        reason=found.reason[:LONGEST_TEXT],
        began=now,
        suite=found.suite,  # the suite that ran, which may differ from the one requested
        fingerprints=found.fingerprints,
        repair=found.repair,
    )


def _unknown(order: Order, began: float, why: str) -> OrderOutcome:
    """A test without a result is unknown, never a pass."""
    return OrderOutcome(order=order.id, verb=order.verb, ok=False, health="unknown", reason=why, began=began)


class TestedMark:
    __test__ = False  # not a pytest class

    def __init__(self, verdict_file: str) -> None:
        self._testing = Path(verdict_file).with_suffix(".testing")
        self._tested = Path(verdict_file).with_suffix(".tested")
        self._begun = False

    def begin(self, text: str) -> None:
        with suppress(OSError):
            self._tested.unlink()
        try:
            self._testing.write_text(text + "\n", encoding="utf-8")
            self._begun = True
        except OSError as error:
            self._begun = False
            log.warning("%s: %s; a prolog that requires a test will refuse jobs", self._testing, error.strerror)

    @property
    def taken(self) -> bool:
        """Whether the node was used, or its scheduler's daemon started, since the test began."""
        return self._begun and not self._testing.exists()

    def passed(self) -> bool:
        """False if the node was used, or its scheduler's daemon started, while the suite ran."""
        if not self._begun:
            return True  # the mark could not be created, so its absence means nothing
        try:
            os.rename(self._testing, self._tested)
        except FileNotFoundError:
            return False
        except OSError as error:
            log.warning("%s: %s; a prolog that requires a test will refuse jobs", self._tested, error.strerror)
        return True

    def withdraw(self) -> None:
        """After a failing check the last test no longer counts, even if the check passes again."""
        with suppress(OSError):
            self._tested.unlink()

    def not_passed(self) -> None:
        with suppress(OSError):
            self._testing.unlink()
