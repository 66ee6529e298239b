"""Every fault of `holdfast twin faults` on NVIDIA, AMD, NVL72, RoCE and EFA nodes: part, class and remedy.

The right answers are those of holdfast/lab/twin/answers/answers.csv: exactly that part, that class and those actions,
in their order. In virtual time, without hardware. `--model h100` does one kind of node. Results are written after
every fault.
"""

import argparse
import json
import math
import tempfile
from pathlib import Path
from typing import Any

from measure import RESULTS

from holdfast.lab import twin
from holdfast.lab.twin.answers import right as answers
from holdfast.lab.twin.error import TwinError
from holdfast.lab.twin.fault import Fault
from holdfast.lab.twin.hardware import load_model
from holdfast.model import subject
from holdfast.model.health import Health
from holdfast.node.agent.assemble import census, load_settings, questions, sources
from holdfast.node.agent.node import Node
from holdfast.node.agent.once import prepare

MODELS = {"h100": "NVIDIA", "mi300x": "AMD", "gb200": "NVL72", "h100_roce": "RoCE", "h100_efa": "EFA"}
BORN, ROUND, SICK = 1_800_000_000.0, 30.0, 3
HANGS = {"driver_hang"}  # would hang this thread; tests/node/agent/test_daemon.py has it on a thread of its own
BAD = (Health.FAIL, Health.DEGRADED)


class Watched:
    """A twin node and the verdicts over it, driven by a clock of our own."""

    def __init__(self, home: Path, model: str) -> None:
        self.twin, self.now = twin.make_node(home, model, now=BORN), BORN
        settings = load_settings(str(home / "holdfast.toml"))
        self.node = Node(census(settings), questions(settings, "passive"))
        self.sources = sources(settings, "passive")
        prepare(self.node, self.sources)
        self.due: dict[str, float] = {}
        self.live(480)

    def live(self, seconds: float, step: float = ROUND) -> None:
        for _ in range(math.ceil(seconds / step)):
            self.now += step
            twin.tick(self.twin, step, seed=1)
            for source in self.sources:
                if self.now >= self.due.get(source.name, 0.0):  # as often as the agent reads it
                    self.due[source.name] = self.now + source.every
                    self.node.take(source.read(self.now))
            self.node.judge(self.now)

    def bad(self) -> dict[str, set[str]]:
        found = {name: {row.subject for row in v.rows if row.health in BAD} for name, v in self.node.verdicts.items()}
        return {name: subjects for name, subjects in found.items() if subjects}

    def live_until(self, wanted: set[str], at_most: float, step: float = ROUND) -> None:
        end = self.now + at_most
        while set(self.bad()) != wanted and self.now < end:
            self.live(step, step)

    def plain(self, part: str) -> str:
        """Without the node's name and without the folder that the twin happens to live in."""
        return part.removeprefix(f"node/{self.twin.name}/").replace(str(self.twin.directory), "")

    def place(self, fault: Fault, number: int) -> dict[str, Any]:
        """Downtime is remembered per port, so each fault of a port gets the next one."""
        if fault.on == "port":
            ports = self.twin.ports()[:-1]  # the last is of the storage network, of another make
            return {"port": ports[number % len(ports)].name}
        return {"gpu": SICK} if fault.on == "gpu" else {}

    def part(self, kind: str, place: dict[str, Any]) -> set[str]:
        """The subjects of the part that an answer names, of which a verdict names one or more."""
        name = self.twin.name
        gpus, ports = self.twin.gpu_functions(), {port.name: port for port in self.twin.ports()}
        if kind.endswith("_pci"):
            function = gpus[SICK] if kind == "gpu_pci" else ports[place["port"]].function
            return {subject.pci(name, str(address)) for address in (function.address, *function.above)}
        if kind == "port":
            return {subject.port(name, place["port"], 1)}
        found = {"gpu": {subject.gpu(name, SICK)}, "every_gpu": {subject.gpu(name, n) for n in range(len(gpus))}}
        return found.get(kind) or {one for one in self.named() if subject.kind(one) == kind}

    def named(self) -> set[str]:
        return set().union(*self.bad().values())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", action="append", choices=sorted(MODELS))
    parser.add_argument("--fault", action="append")
    parser.add_argument("--out", default=str(RESULTS / "twin_faults.json"))
    given = parser.parse_args()
    out = Path(given.out)
    rows = []  # of this run alone: a table of several runs would be of several versions
    for model in given.model or MODELS:
        for row in measured(model, given.fault):
            rows.append(row)
            out.write_text(json.dumps({"rows": rows}, indent=1) + "\n")
            print(row["twin"], row["fault"], "right" if row["right"] else f"WRONG {row['wrong']}", flush=True)
    return 0


def measured(model: str, only: list[str] | None) -> Any:
    hardware = load_model(model)
    faults = twin.faults_of(hardware)
    with tempfile.TemporaryDirectory() as folder:
        watched = Watched(Path(folder) / "n01", model)
        for number, (name, fault) in enumerate(faults.items()):
            if name in HANGS or (only and name not in only):
                continue
            row, calm = measure_once(watched, fault, number)
            if row is None:
                continue
            yield {"twin": MODELS[model], **row}
            if not calm:
                watched = Watched(Path(folder) / f"again{number}", model)


def measure_once(watched: Watched, fault: Fault, number: int) -> tuple[dict[str, Any] | None, bool]:
    place, step = watched.place(fault, number), 1.0 if fault.on == "port" else ROUND
    try:
        twin.inject(watched.twin, fault.name, now=watched.now, pause=lambda s: watched.live(s, 1.0), **place)
    except TwinError:
        return None, True  # this node has no such part
    watched.live(2 * step, step)
    watched.live_until(set(fault.expects), at_most=480, step=step)
    found = watched.bad()
    verdicts = [watched.node.verdicts[check] for check in sorted(found)]
    wrong = wrong_answers(watched, fault, place)
    if set(found) != set(fault.expects):
        wrong.append(f"expected {', '.join(fault.expects) or 'no check'} to turn")
    row = {
        "fault": fault.name,
        "checks": sorted(found),
        "parts": sorted(map(watched.plain, watched.named())),
        "class": sorted({one.failure_class.value for one in verdicts if one.failure_class}),
        "remedy": sorted({one.remedy for one in verdicts if one.remedy}),
        "right": not wrong,
        "wrong": wrong,
    }
    twin.clear(watched.twin, fault.name, now=watched.now, **place)
    watched.live(ROUND)
    watched.live_until(set(), at_most=900)
    return row, not watched.bad()


def wrong_answers(watched: Watched, fault: Fault, place: dict[str, Any]) -> list[str]:
    """What the verdicts say that answers.csv does not."""
    wrong = []
    for check, subjects in watched.bad().items():
        wrong += answers.differences(fault.name, watched.node.verdicts[check], watched.twin.model)
        if right := answers.answer(fault.name, check, watched.twin.model):
            expected = watched.part(right.part, place)
            if not subjects <= expected or (right.part == "every_gpu" and subjects != expected):
                wrong.append(f"{check} names {sorted(subjects)}, expected {right.part}")
    return wrong


if __name__ == "__main__":
    raise SystemExit(main())
