"""Containment of periodic work: an exception becomes the controller's own health and is retried with back-off.

Only a broken store may end the controller. A device, an alert, a scheduler or a mistake of ours may not.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from holdfast.fleet.api.problem import Problem
from holdfast.fleet.controller.transaction import ReportWork, Transaction
from holdfast.fleet.controller.writer import Writer
from holdfast.runtime.components import Components, ComponentView, described

log = logging.getLogger("holdfast.fleet.controller")
RECOVERED_SECONDS = 60.0  # a loop that runs this long without an exception is healthy again
REPORT_SECONDS = 5.0
FAILURES_OF_AN_INCIDENT = 3  # failures in a row; a single failure is a line in the log, not an incident
CAUSE = "controller.component"
Sleep = Callable[[float], Awaitable[None]]


async def keep_running(
    components: Components, name: str, start: Callable[[], Awaitable[None]], sleep: Sleep = asyncio.sleep
) -> None:
    """Run an endless loop until this task is cancelled.

    If the loop ends for any reason, it starts again after a pause.
    """
    loop = asyncio.get_running_loop()
    while True:
        recovered = loop.call_later(RECOVERED_SECONDS, components.succeeded, name)
        try:
            await start()
            error: BaseException | str = "the loop ended without an error"
        except asyncio.CancelledError as cancelled:
            if _is_cancelled():
                raise
            error = cancelled  # the loop's own wait was cancelled, not this task
        except Exception as raised:  # noqa: BLE001  recorded and logged below
            error = raised
        finally:
            recovered.cancel()
        pause = components.failed(name, error)
        detail = error if isinstance(error, BaseException) else None
        log.error("%s failed: %s; it restarts in %.0f s", name, described(error), pause, exc_info=detail)
        await sleep(pause)


def _is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


async def report_components(components: Components, writer: Writer, sleep: Sleep = asyncio.sleep) -> None:
    """Open an incident for each component that keeps failing, and close it when the component works again."""
    reported: dict[str, str] | None = None  # None: an earlier leader may have left incidents open
    while True:
        await sleep(REPORT_SECONDS)
        failing = [one for one in components.failing if one.failures >= FAILURES_OF_AN_INCIDENT]
        now = {one.name: one.error for one in failing}
        if now == reported:
            continue
        try:
            await writer.ask(ReportWork(partial(_report, failing)))
            reported = now
        except Problem as problem:
            reported = None
            log.debug("the controller's own health was not stored: %s", problem)


def _report(failing: Sequence[ComponentView], transaction: Transaction, fresh: Sequence[bool]) -> None:
    incidents = transaction.fleet.incidents
    for one in failing:
        reason = f"{one.name} of the controller keeps failing: {one.error}; its log says more"
        incidents.raise_(f"controller/{one.name}", CAUSE, reason, transaction.now)
    subjects = {f"controller/{one.name}" for one in failing}
    for subject in [one for one in incidents.open if one.startswith("controller/") and one not in subjects]:
        incidents.close(subject, transaction.now, "it works again")
