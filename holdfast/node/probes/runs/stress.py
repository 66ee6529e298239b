"""A shaped load on every device of one or many hosts while the passive checks watch."""

import json
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from holdfast.model import subject
from holdfast.model.refusal import Refusal
from holdfast.model.settings import CheckSettings, Settings
from holdfast.node.agent.assemble import census, node_name, questions, sources
from holdfast.node.agent.clock import AgentClock
from holdfast.node.agent.node import CheckChange, Node
from holdfast.node.agent.once import prepare
from holdfast.node.agent.runner import Runner
from holdfast.node.probes.isolation.hosts import Host
from holdfast.node.probes.stress.profiles import Profile, ProfileError, read, shipped
from holdfast.node.probes.stress.run import Speed, Stress, against_median, speeds
from holdfast.node.sources.gpu.nvml import NvmlSource

LAGS = 0.9  # share of the median device below which a device is named
READY_SECONDS = 120.0
SET_UP_SECONDS = 300.0  # per host: loading torch, and everything except the load
LONGEST_MESSAGE = 300
THROTTLE = "gpu.throttle"
THROTTLED_MINUTES = {"throttled_minutes": 1.0}  # a stress run is short: one minute of it counts


Progress = Callable[[str], None]


def run(profile: Profile, settings: Settings, seconds: float, workers: int, progress: Progress) -> dict[str, Any]:
    """Runs the load on this machine's devices while its passive checks run."""
    settings = _watched(settings)
    devices = _devices(settings, workers)
    with Stress(profile, devices, seconds) as stress, _watching(settings) as watch:
        for load in stress.loads:
            progress(f"worker of {load.subject}: pid {load.process.pid}")
        stress.begin(READY_SECONDS)
        progress(f"{profile.name} runs for {seconds:g} s")
        while stress.running:
            watch.evaluate()
            time.sleep(0.2)
        ended = {load.subject: _ending(load.process.returncode) for load in stress.loads if load.process.returncode}
        rates = {load.subject: load.rates for load in stress.loads if load.subject not in ended}
    watch.evaluate()
    found = report(profile, seconds, speeds(rates, seconds), watch.surfaced())
    found["not_reported"] = ended | {about: "it never reported" for about, seen in rates.items() if not seen}
    return found


def _ending(code: int) -> str:
    return f"its worker was ended by signal {-code}" if code < 0 else f"its worker ended early with code {code}"


def run_on_hosts(profile: Profile, hosts: Sequence[Host], command: Sequence[str], seconds: float) -> dict[str, Any]:
    """`command` runs the same load on one host and prints its JSON document."""
    found: list[Speed] = []
    surfaced: list[Any] = []
    troubles: dict[str, str] = {}
    with _started(hosts, command) as processes:
        for name, process in processes.items():
            document, trouble = _answer(process, seconds + SET_UP_SECONDS)
            if trouble:
                troubles[name] = trouble
                continue
            found += [
                Speed(one["subject"], one["first_iterations_per_second"], one["last_iterations_per_second"], 0.0)
                for one in document["devices"]
            ]
            surfaced += document["surfaced"]
            troubles |= document["not_reported"]
    return {**report(profile, seconds, against_median(found), surfaced), "not_reported": troubles}


@contextmanager
def _started(hosts: Sequence[Host], command: Sequence[str]) -> Iterator[dict[str, "subprocess.Popen[str]"]]:
    """The workers of a host end with its process."""
    processes: dict[str, subprocess.Popen[str]] = {}
    try:
        for host in hosts:
            processes[host.name] = subprocess.Popen(
                [*host.launch, "env", f"HOLDFAST_NODE={host.name}", *command],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        yield processes
    finally:
        for process in processes.values():
            if process.poll() is None:
                process.terminate()
            process.wait()


def _answer(process: "subprocess.Popen[str]", timeout: float) -> tuple[dict[str, Any], str]:
    try:
        out, errors = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        return {}, f"set-up failed: no answer within {timeout:.0f} s"
    try:
        document: dict[str, Any] = json.loads(out)
    except (ValueError, RecursionError):
        last = next((line for line in reversed(errors.splitlines()) if line.strip()), "no message")
        return {}, f"set-up failed: {last.strip()[:LONGEST_MESSAGE]}"
    return document, ""


def find_profile(name: str, file: str) -> Profile:
    try:
        known = shipped() | (read(Path(file).read_text(encoding="utf-8"), file) if file else {})
    except (OSError, UnicodeDecodeError) as error:
        raise Refusal(f"{file}: the profiles cannot be read: {error}") from None
    except ProfileError as error:
        raise Refusal(str(error)) from None
    if name not in known:
        raise Refusal(f"--profile: expected one of {', '.join(sorted(known))}, found {name!r}")
    return known[name]


def _watched(settings: Settings) -> Settings:
    own = settings.checks.get(THROTTLE, CheckSettings())
    stricter = replace(own, limits={**THROTTLED_MINUTES, **own.limits})
    return replace(
        settings, agent=replace(settings.agent, state_dir=""), checks={**settings.checks, THROTTLE: stricter}
    )


def _devices(settings: Settings, workers: int) -> list[tuple[str, str]]:
    """CUDA devices; without any, processes on the CPU, which represent the GPUs of a simulated node."""
    import torch

    name = node_name(settings)
    if torch.cuda.is_available():
        found = [(subject.gpu(name, index), f"cuda:{index}") for index in range(torch.cuda.device_count())]
    elif settings.agent.twin:
        count = len(NvmlSource(name, settings.roots.nvml).read(0.0).present)
        found = [(subject.gpu(name, index), "cpu") for index in range(count)]
    else:
        found = [(f"{subject.node(name)}/worker/{index}", "cpu") for index in range(workers or 2)]
    chosen = found[: workers or None]
    if not chosen:
        raise Refusal("no device was found to put under load")
    return chosen


class _Watch:
    """The agent's passive checks, for as long as the load runs."""

    def __init__(self, settings: Settings) -> None:
        self._clock = AgentClock()
        self._node = Node(census(settings), questions(settings, "passive"))
        chosen = sources(settings, "passive")
        for source in chosen:
            source.every = min(source.every, 2.0)
        prepare(self._node, chosen)
        self.runner = Runner(chosen, self._clock)
        self._before: dict[str, str] = {}
        self._changes: list[CheckChange] = []

    def evaluate(self) -> None:
        while not self.runner.readings.empty():
            self._node.take(self.runner.readings.get())
        self._changes += self._node.judge(self._clock.now())

    def surfaced(self) -> list[dict[str, Any]]:
        """Checks that got worse while the load ran, without those that failed before."""
        found: dict[tuple[str, tuple[str, ...]], dict[str, Any]] = {}
        for change in self._changes:
            if change.before and change.after in ("fail", "degraded"):
                found[(change.check, change.subjects)] = {
                    "check": change.check,
                    "health": change.after,
                    "reason": change.reason,
                    "subjects": list(change.subjects),
                }
        return list(found.values())


@contextmanager
def _watching(settings: Settings) -> Iterator[_Watch]:
    watch = _Watch(settings)
    watch.runner.start()
    try:
        yield watch
    finally:
        watch.runner.stop()


def report(profile: Profile, seconds: float, found: list[Speed], surfaced: list[dict[str, Any]]) -> dict[str, Any]:
    first, last = sum(one.first for one in found), sum(one.last for one in found)
    return {
        "profile": profile.name,
        "seconds": seconds,
        "drift_ratio": last / first - 1.0 if first else 0.0,
        "devices": [
            {
                "subject": one.subject,
                "first_iterations_per_second": one.first,
                "last_iterations_per_second": one.last,
                "drift_ratio": one.drift,
                "share_of_median": one.against_median,
            }
            for one in found
        ],
        "named": [one.subject for one in found if one.against_median < LAGS],
        "surfaced": surfaced,
    }
