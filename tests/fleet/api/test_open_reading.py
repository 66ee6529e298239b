"""Where reading is open, as in a demo: everything that a viewer may, and nothing else."""

import asyncio

import pytest

from holdfast.fleet.api.access import MAY, Access
from holdfast.fleet.api.problem import Problem
from holdfast.fleet.controller.server import reads_without_token
from holdfast.fleet.controller.settings import Listening
from holdfast.model.records import Credential, Role


async def _no_one(hashed: str) -> Credential | None:
    return None


@pytest.mark.parametrize("right", sorted(MAY))
def test_who_brings_no_token_may_what_a_viewer_may(right: str) -> None:
    access = Access(_no_one, anonymous=True)
    if Role.VIEWER in MAY[right]:
        assert asyncio.run(access.caller("", right)).role is Role.VIEWER
    else:
        with pytest.raises(Problem):
            asyncio.run(access.caller("", right))


@pytest.mark.parametrize("right", sorted(MAY))
def test_where_reading_is_not_open_a_token_is_asked_for(right: str) -> None:
    with pytest.raises(Problem):
        asyncio.run(Access(_no_one).caller("", right))


@pytest.mark.parametrize(
    ("demo", "host", "open_"),
    [
        (True, "127.0.0.1", True),
        (True, "::1", True),
        (True, "0.0.0.0", False),
        (True, "::", False),
        (True, "10.1.2.3", False),
        (False, "127.0.0.1", False),
    ],
)
def test_only_a_demo_on_loopback_is_open(demo: bool, host: str, open_: bool) -> None:
    assert reads_without_token(Listening(demo=demo), host) is open_
