"""A leader that is stopped in the middle of its work and wakes: another leads by then, and it does nothing more."""

import re
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.fleet.controller.running import Controller, running, until
from tests.postgres import Server

pytestmark = pytest.mark.slow


@contextmanager
def recording(directory: Path, store: str, journal: Path, *, leads: bool, seconds: float) -> Iterator[Controller]:
    """A controller whose every cordon takes `seconds` and is written down with whose it was, when it begins."""
    directory.mkdir()
    tool = directory / "cordon"
    tool.write_text(f'#!/bin/sh\necho "{directory.name} $1" >> {journal}\nsleep {seconds}\n')
    tool.chmod(0o755)
    commands = f'commands = {{ cordon = ["{tool}", "{{key}}"] }}'
    more = f'[actions]\ncordon = "command"\n[command]\nidempotent = true\n{commands}\n'
    with running(directory, more=more, store=store, leads=leads) as controller:
        yield controller


def test_what_it_had_claimed_is_done_by_the_other_and_not_by_itself(tmp_path: Path, server: Server) -> None:
    journal, store = tmp_path / "journal", server.new_store()
    journal.touch()
    with (
        recording(tmp_path / "first", store, journal, leads=True, seconds=4) as first,
        recording(tmp_path / "second", store, journal, leads=False, seconds=0) as second,
    ):
        agent = first.enrol("n1")
        until(journal.read_text, "the first cordon is under way")
        assert first.post("/v1/nodes/n1/quarantine", {"reason": "a second cordon behind it"}).status_code == 200
        until(lambda: [one["state"] for one in cordons(first)] == ["claimed", "claimed"], "both are claimed")
        first.process.send_signal(signal.SIGSTOP)
        until(lambda: second.get("/healthz")["leading"], "the other leads")
        until(lambda: [one["state"] for one in cordons(second)] == ["done", "done"], "the other has done both")
        first.process.send_signal(signal.SIGCONT)
        log = first.config.with_suffix(".log")
        until(lambda: len(let_go(log.read_text())) == 2, "it lets go of both actions that it had claimed")
        until(lambda: first.report([agent.next(heartbeat=True)], agent.credential).status_code == 307, "it redirects")
        done = [line.split() for line in journal.read_text().splitlines()]
        assert [key for who, key in done if who == "first"] == [done[0][1]], "nothing was begun after it woke"
        assert len({key for _, key in done}) == 2
        states = {one["id"]: one["attempts"] for one in cordons(second)}
        time.sleep(1.0)  # nothing more may happen; there is no event to wait for
        assert {one["id"]: one["attempts"] for one in cordons(second)} == states


def let_go(log: str) -> set[str]:
    """Actions whose outcome was refused, by the store or because another leads: whichever was noticed first."""
    return set(re.findall(r"action (\d+) (?:was not stored|is left to the new leader)", log))


def cordons(controller: Controller) -> list[dict[str, object]]:
    actions = controller.get("/v1/actions")["actions"]
    return [one for one in actions if one["verb"] == "cordon"]
