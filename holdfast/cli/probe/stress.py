"""What `holdfast probe stress` does: the load runs, the passive checks watch, and the report says what surfaced."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from holdfast.cli.probe import stress_hosts as probe_stress_hosts
from holdfast.cli.probe.here import chosen_hosts
from holdfast.cli.shared.table import console, plain, table
from holdfast.model import subject
from holdfast.model.refusal import Refusal
from holdfast.model.settings import CheckSettings, Settings
from holdfast.node.agent.assemble import census, load_settings, node_name, questions, sources
from holdfast.node.agent.clock import SteadyClock
from holdfast.node.agent.node import CheckChange, Node
from holdfast.node.agent.once import prepare
from holdfast.node.agent.runner import Runner
from holdfast.node.probes.stress.profiles import Profile, ProfileError, read, shipped
from holdfast.node.probes.stress.run import Speed, Stress, speeds
from holdfast.node.sources.gpu.nvml import NvmlSource

LAGS = 0.9  # of the median device: below it a device is named
FELL = -0.05  # drift of the whole that is told as such
READY_SECONDS = 120.0
THROTTLE = "gpu.throttle"
THROTTLED_MINUTES = {"throttled_minutes": 1.0}  # a stress run is short: one minute of it is worth telling


def carry_out(
    name: str, file: str, seconds: float, workers: int, config: str, hosts: tuple[str, str], json_output: bool
) -> int:
    profile = _profile(name, file)
    if any(hosts):
        return _tell(_on_hosts(profile, file, seconds, workers, config, hosts), json_output)
    settings = _watched(load_settings(config))
    devices = _devices(settings, workers)
    with Stress(profile, devices, seconds) as stress, _watching(settings) as watch:
        for load in stress.loads:
            sys.stderr.write(f"worker of {load.subject}: pid {load.process.pid}\n")
        stress.begin(READY_SECONDS)
        sys.stderr.write(f"{profile.name} runs for {seconds:g} s\n")
        sys.stderr.flush()
        while stress.running:
            watch.turn()
            time.sleep(0.2)
        ended = {load.subject: _ending(load.process.returncode) for load in stress.loads if load.process.returncode}
        rates = {load.subject: load.rates for load in stress.loads if load.subject not in ended}
    watch.turn()
    document = report(profile, seconds, speeds(rates, seconds), watch.surfaced())
    document["unheard"] = ended | {about: "never heard of" for about, seen in rates.items() if not seen}
    return _tell(document, json_output)


def _ending(code: int) -> str:
    return f"its worker was ended by signal {-code}" if code < 0 else f"its worker ended early with code {code}"


def _on_hosts(
    profile: Profile, file: str, seconds: float, workers: int, config: str, hosts: tuple[str, str]
) -> dict[str, Any]:
    words = [
        "probe",
        "stress",
        "--profile",
        profile.name,
        "--seconds",
        str(seconds),
        "--workers",
        str(workers),
        "--json",
    ]
    words += ["--file", file] if file else []
    words += ["--config", config] if config else []
    found, surfaced, troubles = probe_stress_hosts.run(chosen_hosts(*hosts, 0), words, seconds)
    return {**report(profile, seconds, found, surfaced), "unheard": troubles}


def _tell(document: dict[str, Any], json_output: bool) -> int:
    if json_output:
        sys.stdout.write(msgspec.json.encode(document).decode() + "\n")
    else:
        _print(document)
    return 2 if document["unheard"] else 1 if document["named"] or document["surfaced"] else 0


def _profile(name: str, file: str) -> Profile:
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
    """CUDA devices; else processes on the CPU, which on a simulated node stand in for its GPUs."""
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
        self._clock = SteadyClock()
        self._node = Node(census(settings), questions(settings, "passive"))
        chosen = sources(settings, "passive")
        for source in chosen:
            source.every = min(source.every, 2.0)
        prepare(self._node, chosen)
        self.runner = Runner(chosen, self._clock)
        self._before: dict[str, str] = {}
        self._changes: list[CheckChange] = []

    def turn(self) -> None:
        while not self.runner.readings.empty():
            self._node.take(self.runner.readings.get())
        self._changes += self._node.judge(self._clock.now())

    def surfaced(self) -> list[dict[str, Any]]:
        """What got worse while the load ran; what was so from the start is not the load's."""
        found: dict[tuple[str, tuple[str, ...]], dict[str, Any]] = {}
        for change in self._changes:
            if change.before and change.after in ("fail", "degraded"):
                told = {"check": change.check, "health": change.after, "reason": change.reason}
                found[(change.check, change.subjects)] = {**told, "subjects": list(change.subjects)}
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
                "first_turns_per_second": one.first,
                "last_turns_per_second": one.last,
                "drift_ratio": one.drift,
                "share_of_median": one.against_median,
            }
            for one in found
        ],
        "named": [one.subject for one in found if one.against_median < LAGS],
        "surfaced": surfaced,
    }


def _print(document: dict[str, Any]) -> None:
    out = console()
    rows = table("device", "first turns/s", "last turns/s", "drift", "of median")
    for one in document["devices"]:
        rows.add_row(
            plain(one["subject"]),
            f"{one['first_turns_per_second']:.1f}",
            f"{one['last_turns_per_second']:.1f}",
            f"{100 * one['drift_ratio']:+.0f} %",
            f"{100 * one['share_of_median']:.0f} %",
        )
    out.print(rows)
    told = " (the load slowed down)" if document["drift_ratio"] <= FELL else ""
    out.print(f"drift of the whole between its first and last part: {100 * document['drift_ratio']:+.0f} %{told}")
    for about in document["named"]:
        out.print(plain(f"slow: {about}"))
    for about, why in document["unheard"].items():
        out.print(plain(f"no answer: {about}: {why}"))
    for one in document["surfaced"]:
        out.print(plain(f"{one['health']}: {one['check']}: {one['reason']}"))
