"""Threads that must not end: an exception is recorded and the call is retried with back-off."""

import logging
import time
from collections.abc import Callable

from holdfast.runtime.components import Components, described

log = logging.getLogger("holdfast.runtime")

process = Components()
"""Health of the threads of this process that report it themselves: an agent, a keeper."""


def run_contained(
    name: str,
    step: Callable[[], bool],
    components: Components = process,
    pause: Callable[[float], object] = time.sleep,
) -> None:
    """Call `step` until it returns False."""
    going_on = True
    while going_on:
        try:
            going_on = step()
            components.succeeded(name)
        except Exception as error:
            seconds = components.failed(name, error)
            log.error("%s failed: %s; it goes on in %.0f s", name, described(error), seconds, exc_info=error)
            pause(seconds)
