"""A fabric sweep over hosts, agents or torchrun, evaluated with its limits and its history: `holdfast probe run`."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from holdfast.model.refusal import Refusal
from holdfast.model.wire.probe import BACKENDS, COLLECTIVES
from holdfast.model.wire.sweep import SweepReport
from holdfast.node.agent.sweep_judge import UnknownFabric, judged, require_known, slow_band
from holdfast.node.probes.isolation.hosts import Host
from holdfast.node.probes.runs import agents, baseline, topology
from holdfast.node.probes.runs.agents import ControllerAccess
from holdfast.node.probes.runs.hosts import chosen_hosts
from holdfast.node.probes.runs.nccl_tests import from_nccl_tests
from holdfast.node.probes.sweep.crew import Crew
from holdfast.node.probes.sweep.run import ProbeSweepOptions, probe
from holdfast.node.probes.sweep.sizes import sizes

Progress = Callable[[str], None]
_UNITS = {"": 1, "B": 1, "KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30}
_SIZE = re.compile(r"(\d+)\s*([a-z]*)", re.IGNORECASE)
NO_ACCESS = ControllerAccess()


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepOptions:
    """The options of `holdfast probe run`, not yet checked."""

    hosts: str = ""
    slurm: str = ""
    local: int = 0
    nodes: str = ""
    torchrun: bool = False
    operation: str = "all_reduce"
    backend: str = "gloo"
    smallest: str = "8"
    largest: str = "2GiB"
    pair_bytes: str = "8MiB"
    longest_seconds: float = 10.0
    timeout_seconds: float = 120.0
    spoil: str = ""
    fabric: str = ""
    topology: str = ""
    adaptive: bool = False
    baseline: str = ""
    nccl_tests: str = ""
    controller: ControllerAccess = NO_ACCESS


def run(given: SweepOptions, progress: Progress) -> SweepReport | None:
    """Runs the sweep. Returns None in a process of torchrun that does not lead."""
    try:
        require_known(given.fabric)
    except UnknownFabric as error:
        raise Refusal(f"--fabric: {error}") from None
    if given.nccl_tests:
        return from_nccl_tests(given.nccl_tests, given.fabric, given.baseline)
    options = _options(given)
    report = _by_agents(given, options, progress) if given.nodes else _by_crew(given, options, progress)
    if report is None:
        return None
    past = baseline.known_past(report, given.backend, given.baseline)
    report.sweep_verdicts = [one.as_json() for one in judged(report, given.fabric, past)]
    baseline.add(report, given.backend, given.baseline)
    return report


def _options(given: SweepOptions) -> ProbeSweepOptions:
    if given.operation not in COLLECTIVES:
        raise Refusal(f"--operation: expected one of {', '.join(COLLECTIVES)}, found {given.operation!r}")
    if given.backend not in BACKENDS:
        raise Refusal(f"--backend: expected {' or '.join(BACKENDS)}, found {given.backend!r}")
    options = ProbeSweepOptions(
        operation=given.operation,
        backend=given.backend,
        smallest=_bytes("--smallest", given.smallest),
        largest=_bytes("--largest", given.largest),
        pair_bytes=_bytes("--pair-bytes", given.pair_bytes),
        longest_seconds=given.longest_seconds,
        timeout_seconds=given.timeout_seconds,
        spoil=_spoil(given.spoil),
    )
    if options.smallest > options.largest:
        raise Refusal(f"--smallest {given.smallest} is larger than --largest {given.largest}")
    return options


def _by_agents(given: SweepOptions, options: ProbeSweepOptions, progress: Progress) -> SweepReport:
    """The controller knows which nodes are idle, and where they are in the fabric."""
    for option, value in (("--hosts", given.hosts), ("--slurm", given.slurm), ("--local", given.local)):
        if value:
            raise Refusal(f"--nodes: the agents are the workers; leave out {option}")
    if given.torchrun or given.topology or given.spoil:
        raise Refusal("--nodes: leave out --torchrun and --spoil, and --topology: the controller's inventory is used")
    return agents.run(given.controller, given.nodes, options, given.fabric, progress)


def _by_crew(given: SweepOptions, options: ProbeSweepOptions, progress: Progress) -> SweepReport | None:
    """Runs the sweep with workers that this process or torchrun starts. None if another process reports."""
    crew = _torchrun_crew(given) if given.torchrun else Crew(chosen_hosts(given.hosts, given.slurm, given.local))
    if crew is None:
        return None
    try:
        hosts = [worker.host for worker in crew.workers.values()]
        _refuse_useless_spoil(options, hosts)
        known = topology.find(given.topology, given.adaptive, hosts)
    except Refusal:
        crew.stop()
        raise

    def slow(report: SweepReport) -> list[int]:
        return slow_band(report, given.fabric, baseline.known_past(report, given.backend, given.baseline))

    report = probe(crew, options, known.map, slow, progress)
    report.suspects = known.with_counters(report.suspects)
    return report


def _torchrun_crew(given: SweepOptions) -> Crew | None:
    """The first process leads; the others serve until it is done, and report nothing."""
    from holdfast.node.probes.sweep import elastic

    if given.hosts or given.slurm or given.local:
        raise Refusal("--torchrun: torchrun chose the hosts; leave out --hosts, --slurm and --local")
    try:
        store, rank, world = elastic.join()
    except elastic.NotStarted as error:
        raise Refusal(f"--torchrun: {error}") from None
    if rank == 0:
        return elastic.lead(store, world)
    elastic.serve(store, rank)
    return None


def _bytes(option: str, text: str) -> int:
    found = _SIZE.fullmatch(text.strip())
    unit = _UNITS.get(found[2].upper()) if found else None
    if found is None or unit is None or int(found[1]) < 1:
        raise Refusal(f"{option}: expected a size such as 8, 64KiB or 2GiB, found {text!r}")
    return int(found[1]) * unit


def _spoil(text: str) -> tuple[int, int] | None:
    if not text:
        return None
    rank, _, size = text.partition(":")
    if not rank.isdigit() or not size.isdigit():
        raise Refusal(f"--spoil: expected RANK:BYTES, found {text!r}")
    return int(rank), int(size)


def _refuse_useless_spoil(options: ProbeSweepOptions, hosts: Sequence[Host]) -> None:
    """A --spoil that changes no number would look like a test that passed."""
    if options.spoil is None:
        return
    rank, size = options.spoil
    if size not in sizes(options.smallest, options.largest):
        raise Refusal(f"--spoil: the sweep from {options.smallest} by doubling has no payload of {size} bytes")
    ranks = sum(host.rails for host in hosts)
    if options.backend == "gloo" and rank >= ranks:
        raise Refusal(f"--spoil: expected a rank from 0 to {ranks - 1}, found {rank}")
