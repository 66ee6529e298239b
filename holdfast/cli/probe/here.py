"""What `holdfast probe run` does: hosts from words, progress on stderr, a table or one JSON document."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from holdfast.cli.probe import agents as probe_agents
from holdfast.cli.probe import topology as probe_topology
from holdfast.cli.probe.agents import Asking
from holdfast.cli.probe.idle import refuse_allocated_here_known, refuse_allocated_in_slurm
from holdfast.cli.probe.nccl_tests import from_nccl_tests
from holdfast.cli.probe.past import known_past, remember
from holdfast.cli.probe.tell import tell
from holdfast.formats.slurm import hostlist
from holdfast.model.refusal import Refusal
from holdfast.model.wire.probe import BACKENDS, COLLECTIVES
from holdfast.model.wire.sweep import SweepReport
from holdfast.node.agent.sweep_judge import UnknownFabric, judged, require_known, slow_band
from holdfast.node.probes.isolation.hosts import Host, HostsError, parse
from holdfast.node.probes.sweep.crew import Crew
from holdfast.node.probes.sweep.run import Options, probe
from holdfast.node.probes.sweep.sizes import sizes

_UNITS = {"": 1, "B": 1, "KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30}
_SIZE = re.compile(r"(\d+)\s*([a-z]*)", re.IGNORECASE)
NOT_ASKED = Asking()


@dataclass(frozen=True, slots=True)
class Wish:
    """The command line, not yet looked at."""

    hosts: str
    slurm: str
    local: int
    operation: str
    backend: str
    smallest: str
    largest: str
    pair_bytes: str
    spoil: str
    fabric: str = ""
    nccl_tests: str = ""
    topology: str = ""
    adaptive: bool = False
    baseline: str = ""
    torchrun: bool = False
    nodes: str = ""
    agents: Asking = NOT_ASKED


def carry_out(wish: Wish, longest_seconds: float, patience_seconds: float, json_output: bool) -> int:
    try:
        require_known(wish.fabric)
    except UnknownFabric as error:
        raise Refusal(f"--fabric: {error}") from None
    if wish.nccl_tests:
        return tell(from_nccl_tests(wish.nccl_tests, wish.fabric, wish.baseline), json_output)
    options = _options(wish, longest_seconds, patience_seconds)
    report = _by_agents(wish, options) if wish.nodes else _by_crew(wish, options)
    if report is None:
        return 0
    past = known_past(report, wish.backend, wish.baseline)
    report.judgement = [one.as_json() for one in judged(report, wish.fabric, past)]
    remember(report, wish.backend, wish.baseline)
    return tell(report, json_output)


def _options(wish: Wish, longest_seconds: float, patience_seconds: float) -> Options:
    if wish.operation not in COLLECTIVES:
        raise Refusal(f"--operation: expected one of {', '.join(COLLECTIVES)}, found {wish.operation!r}")
    if wish.backend not in BACKENDS:
        raise Refusal(f"--backend: expected {' or '.join(BACKENDS)}, found {wish.backend!r}")
    options = Options(
        operation=wish.operation,
        backend=wish.backend,
        smallest=_bytes("--smallest", wish.smallest),
        largest=_bytes("--largest", wish.largest),
        pair_bytes=_bytes("--pair-bytes", wish.pair_bytes),
        longest_seconds=longest_seconds,
        patience_seconds=patience_seconds,
        spoil=_spoil(wish.spoil),
    )
    if options.smallest > options.largest:
        raise Refusal(f"--smallest {wish.smallest} is larger than --largest {wish.largest}")
    return options


def _by_agents(wish: Wish, options: Options) -> SweepReport:
    """The controller knows who works, and where its nodes hang."""
    for word, said in (("--hosts", wish.hosts), ("--slurm", wish.slurm), ("--local", wish.local)):
        if said:
            raise Refusal(f"--nodes: the agents are the workers; leave out {word}")
    if wish.torchrun or wish.topology or wish.spoil:
        raise Refusal("--nodes: leave out --torchrun and --spoil, and --topology: the controller's inventory is used")
    with Console(stderr=True).status("asking the controller") as status:
        return probe_agents.run(wish.agents, wish.nodes, options, wish.fabric, lambda words: status.update(words))


def _by_crew(wish: Wish, options: Options) -> SweepReport | None:
    """By workers that this process starts, or torchrun; None where another process tells."""
    crew = _torchrun_crew(wish) if wish.torchrun else Crew(chosen_hosts(wish.hosts, wish.slurm, wish.local))
    if crew is None:
        return None
    try:
        hosts = [worker.host for worker in crew.workers.values()]
        _refuse_idle_drill(options, hosts)
        known = probe_topology.find(wish.topology, wish.adaptive, hosts)
    except Refusal:
        crew.stop()
        raise

    def slow(report: SweepReport) -> list[int]:
        return slow_band(report, wish.fabric, known_past(report, wish.backend, wish.baseline))

    with Console(stderr=True).status("probing") as status:
        report = probe(crew, options, known.map, slow, lambda words: status.update(words))
    report.suspects = known.with_counters(report.suspects)
    return report


def _torchrun_crew(wish: Wish) -> Crew | None:
    """The first process leads; the others serve until it is done, and have nothing to tell."""
    from holdfast.node.probes.sweep import elastic

    if wish.hosts or wish.slurm or wish.local:
        raise Refusal("--torchrun: torchrun chose the hosts; leave out --hosts, --slurm and --local")
    try:
        store, rank, world = elastic.join()
    except elastic.NotStarted as error:
        raise Refusal(f"--torchrun: {error}") from None
    if rank == 0:
        return elastic.lead(store, world)
    elastic.serve(store, rank)
    return None


def chosen_hosts(file: str, slurm: str, local: int) -> list[Host]:
    if sum(map(bool, (file, slurm, local))) != 1:
        raise Refusal("expected exactly one of --hosts FILE, --slurm HOSTLIST and --local COUNT, or --nodes HOSTLIST")
    if local:
        if not 2 <= local <= 64:
            raise Refusal(f"--local: expected 2 to 64 processes, found {local}")
        return [Host(f"local{number}", "127.0.0.1") for number in range(local)]
    if slurm:
        return _slurm_hosts(slurm)
    try:
        hosts = parse(Path(file).read_text(encoding="utf-8"), file)
    except (OSError, UnicodeDecodeError) as error:
        raise Refusal(f"{file}: the list of hosts cannot be read: {error}") from None
    except HostsError as error:
        raise Refusal(str(error)) from None
    refuse_allocated_here_known([host.name for host in hosts])
    return hosts


def _slurm_hosts(words: str) -> list[Host]:
    """Each worker is a step of its own: within an allocation beside what runs there, else an allocation of one node."""
    try:
        names = hostlist.expand(words)
    except ValueError as error:
        raise Refusal(f"--slurm: {error}") from None
    if len(names) < 2:
        raise Refusal(f"--slurm: expected two hosts or more, found {words!r}")
    refuse_allocated_in_slurm(names)
    return [Host(name, launch=("srun", "--quiet", "-N1", "-n1", "--overlap", "-w", name)) for name in names]


def _bytes(option: str, words: str) -> int:
    found = _SIZE.fullmatch(words.strip())
    unit = _UNITS.get(found[2].upper()) if found else None
    if found is None or unit is None or int(found[1]) < 1:
        raise Refusal(f"{option}: expected a size such as 8, 64KiB or 2GiB, found {words!r}")
    return int(found[1]) * unit


def _spoil(words: str) -> tuple[int, int] | None:
    if not words:
        return None
    rank, _, size = words.partition(":")
    if not rank.isdigit() or not size.isdigit():
        raise Refusal(f"--spoil: expected RANK:BYTES, found {words!r}")
    return int(rank), int(size)


def _refuse_idle_drill(options: Options, hosts: Sequence[Host]) -> None:
    """A drill that spoils nothing would look like a test that was passed."""
    if options.spoil is None:
        return
    rank, size = options.spoil
    if size not in sizes(options.smallest, options.largest):
        raise Refusal(f"--spoil: the sweep from {options.smallest} by doubling has no payload of {size} bytes")
    ranks = sum(host.rails for host in hosts)
    if options.backend == "gloo" and rank >= ranks:
        raise Refusal(f"--spoil: expected a rank from 0 to {ranks - 1}, found {rank}")
