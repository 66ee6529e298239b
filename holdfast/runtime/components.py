"""Health of the controller's own components: loops, sources, alerts and readers.

A component records each failure and each success where it runs, in any thread. The API only reads.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from holdfast.runtime import clock

T = TypeVar("T")

FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 60.0
LONGEST_ERROR = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentView:
    """One component that has failed at least once since this controller started."""

    name: str
    failing: bool
    failures: int
    """In a row; 0 after a success."""
    total: int
    """Since this controller started."""
    since: float | None
    """When the current row of failures began, in seconds since the epoch."""
    error: str
    """The last one."""


class Components:
    def __init__(self, clock: Callable[[], float] = clock.now) -> None:
        self._clock = clock
        self._known: dict[str, ComponentView] = {}
        self._worked_at: dict[str, float] = {}

    def failed(self, name: str, error: BaseException | str) -> float:
        """Record a failure and return the seconds to wait before the next try."""
        known = self._known.get(name)
        failures = known.failures + 1 if known else 1
        self._known[name] = ComponentView(
            name=name,
            failing=True,
            failures=failures,
            total=known.total + 1 if known else 1,
            since=known.since if known and known.failing else self._clock(),
            error=described(error),
        )
        return pause_after(failures)

    def succeeded(self, name: str) -> None:
        self._worked_at[name] = self._clock()
        known = self._known.get(name)
        if known is not None and known.failing:
            self._known[name] = ComponentView(
                name=name, failing=False, failures=0, total=known.total, since=None, error=known.error
            )

    def worked_at(self, name: str) -> float | None:
        """Time of the last success; None if there is none since this controller started."""
        return self._worked_at.get(name)

    @property
    def all(self) -> tuple[ComponentView, ...]:
        return tuple(one for _, one in sorted(self._known.items()))

    @property
    def failing(self) -> tuple[ComponentView, ...]:
        return tuple(one for one in self.all if one.failing)


def pause_after(failures: int) -> float:
    """The pause after consecutive failures: it doubles from 1 s to 60 s."""
    return min(FIRST_PAUSE_SECONDS * 2.0 ** min(failures - 1, 30), LONGEST_PAUSE_SECONDS)


def described(error: BaseException | str) -> str:
    """The exception as one line of bounded length. If its text raises, its type is named."""
    if isinstance(error, str):
        text = error
    else:
        try:
            text = f"{type(error).__name__}: {error}"
        except Exception:  # noqa: BLE001  __str__ is third-party code too
            text = type(error).__name__
    return " ".join(text.split())[:LONGEST_ERROR].encode("utf-8", "replace").decode()


class Contained(Exception):
    """Replaces an exception that asyncio cannot pass out of a thread, such as SystemExit or StopIteration."""


def in_thread(do: Callable[..., T], *arguments: object) -> T:
    """Call third-party code in a pool thread. An exception that asyncio cannot pass to a task becomes Contained."""
    try:
        return do(*arguments)
    except (StopIteration, asyncio.CancelledError) as error:
        raise Contained(described(error)) from error
    except Exception:
        raise
    except BaseException as error:
        raise Contained(described(error)) from error
