"""Long-lived server-sent events: limited per caller and in total, and ended with the caller's token."""

from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from litestar import Request
from litestar.response import Stream

from holdfast.fleet.api.guard import authorize, caller_of
from holdfast.fleet.api.problem import Problem
from holdfast.fleet.store import StoreError
from holdfast.model.records import CredentialKind

MOST_STREAMS = 200
MOST_OF_CALLER = 20
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
HttpRequest = Request[Any, Any, Any]
Events = AsyncGenerator[bytes, None]


def streamed(opened: Counter[str], request: HttpRequest, events: Events) -> Stream:
    """The response that sends these events. Raises Problem if too many streams are open."""
    caller = caller_of(request)
    owner = f"{CredentialKind.of(caller.role).value}/{caller.name}"
    if opened[owner] >= MOST_OF_CALLER:
        raise Problem(429, f"{caller.name} has {MOST_OF_CALLER} streams open already", {"Retry-After": "10"})
    if opened.total() >= MOST_STREAMS:
        raise Problem(503, f"{MOST_STREAMS} streams are open already", {"Retry-After": "10"})
    return Stream(_while_allowed(opened, owner, request, events), media_type="text/event-stream", headers=HEADERS)


def event(name: str, data: bytes) -> bytes:
    return b"event: " + name.encode() + b"\ndata: " + data + b"\n\n"


async def _while_allowed(opened: Counter[str], owner: str, request: HttpRequest, events: Events) -> Events:
    """Sends events while the caller is allowed to read. The stream is counted from its first event on, so that one that
    never begins takes no place. A stream lasts for days, so the token is checked before each event."""
    opened[owner] += 1
    try:
        if opened[owner] > MOST_OF_CALLER or opened.total() > MOST_STREAMS:
            return
        async with aclosing(events):
            async for one in events:
                if not await _still_may(request):
                    return
                yield one
    finally:
        opened[owner] -= 1
        if not opened[owner]:
            del opened[owner]


async def _still_may(request: HttpRequest) -> bool:
    try:
        await authorize(request, "read")
    except (Problem, StoreError):
        return False
    return True
