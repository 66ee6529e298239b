"""A real controller is killed while ten faults are open and started again: no incident closes, every bill goes on."""

import random
import re
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from holdfast.model.topology import Edge
from tests.fleet.incidents.test_restart import FAULTS
from tests.seams.conftest import START, _calm, _edges
from tests.seams.making import change, of

from .running import Controller, running, until

FACTOR = 60.0  # a minute of the window in a second
CADENCE = 1.0
CALM_SECONDS = 1100.0  # of the window: the baseline is learned and stored by then
SLOWER = of(change("job_step_seconds", times=1.2), change("job_throughput_ratio", times=0.83))


def _of(site: int, subject: str) -> str:
    """The small plant of tests/seams once for each fault, every one with names of its own."""
    return re.sub(r"^(\w+)/", rf"\1/s{site}", subject)


def _topology() -> str:
    edges = [
        Edge(edge.kind, _of(site, edge.source), _of(site, edge.target))
        for site in range(len(FAULTS))
        for edge in _edges()
    ]
    return "".join(f'[[edge]]\nkind = "{one.kind}"\nfrom = "{one.source}"\nto = "{one.target}"\n' for one in edges)


class Plants(threading.Thread):
    """Until stopped: what every instrument of the ten plants says, a second apart."""

    def __init__(self, controller: Controller) -> None:
        super().__init__(daemon=True)
        self.controller: Controller | None = controller
        self.speaking = threading.Lock()
        self.fault, self.ended = threading.Event(), threading.Event()
        self._chance = random.Random(3)
        self._sites = []
        for _, make in FAULTS.values():
            world = _calm(1)
            of(make, SLOWER)(world)
            self._sites.append(world.tables)

    def run(self) -> None:
        while not self.ended.is_set():
            with self.speaking:
                if self.controller is not None:
                    self._send(self.controller)
            self.ended.wait(CADENCE)

    def _send(self, controller: Controller) -> None:
        samples: list[dict[str, Any]] = []
        for site, tables in enumerate(self._sites):
            column = self._chance.randrange(START + 20, 240) if self.fault.is_set() else self._chance.randrange(START)
            samples += [
                {"subject": _of(site, subject), "name": name, "value": float(table.values[row, column])}
                for name, table in tables.items()
                for row, subject in enumerate(table.subjects)
            ]
        for first in range(0, len(samples), 1000):
            output = controller.post(
                "/v1/signals", {"signals": samples[first : first + 1000], "cadence_seconds": 2 * CADENCE}
            )
            assert output.status_code == 200, output.text


@pytest.mark.slow
def test_ten_open_faults_outlive_a_killed_controller(tmp_path: Path) -> None:
    (tmp_path / "topology.toml").write_text(_topology())
    jobs = "".join(f'[[job]]\nname = "s{site}llama"\n' for site in range(len(FAULTS)))
    (tmp_path / "context.toml").write_text(f"[prices]\ngpu_hour = 3.0\n{jobs}")
    more = (
        f"demo = true\ntime_factor = {FACTOR}\n[seams]\nevaluate_seconds = 60\n"
        f'topology = "{tmp_path}/topology.toml"\nbusiness_context = "{tmp_path}/context.toml"\n'
    )
    causes = {_of(site, cause) for site, (cause, _) in enumerate(FAULTS.values())}
    with running(tmp_path / "controller", more=more) as controller:
        plants = Plants(controller)
        plants.start()
        try:
            _wait(CALM_SECONDS)
            assert _open(controller) == {}
            plants.fault.set()
            before = until(lambda: _all_open(controller, causes), "all ten are open and billed", 150)
            with plants.speaking:
                plants.controller = None
                controller.kill()
            controller = controller.restarted()
            try:
                with plants.speaking:
                    plants.controller = controller
                _goes_on(controller, causes, before)
            finally:
                plants.controller = None
                controller.kill()
        finally:
            plants.ended.set()
            plants.join(30)


def _goes_on(controller: Controller, causes: set[str], before: dict[str, dict[str, Any]]) -> None:
    """For a quarter of an hour of the window, three times as long as it once took to close them."""
    ends = time.monotonic() + 900 / FACTOR
    until(lambda: time.monotonic() > ends and _all_billed(controller, causes, before), "every bill grew", 150)
    after = _open(controller)
    assert {cause: after[cause]["id"] for cause in causes} == {cause: before[cause]["id"] for cause in causes}
    assert not controller.get("/v1/incidents", only="closed")["incidents"]


def _wait(seconds: float) -> None:
    ends = time.monotonic() + seconds / FACTOR
    until(lambda: time.monotonic() > ends, "some minutes of the window are over", 2 * seconds / FACTOR)


def _open(controller: Controller) -> dict[str, dict[str, Any]]:
    return {one["subject"]: one for one in controller.get("/v1/incidents", only="open")["incidents"]}


def _all_open(controller: Controller, causes: set[str]) -> Any:
    found = _open(controller)
    return found if causes <= found.keys() and all(_billed(found[one]) > 0 for one in causes) else None


def _all_billed(controller: Controller, causes: set[str], before: dict[str, dict[str, Any]]) -> bool:
    after = _open(controller)
    assert causes <= after.keys(), f"closed: {causes - after.keys()}"
    return all(_billed(after[one]) > _billed(before[one]) for one in causes)


def _billed(incident: dict[str, Any]) -> float:
    hours: float = incident["account"]["bill"]["gpu_hours"]
    return hours
