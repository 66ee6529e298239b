"""Assembles a node agent from its settings: the one list of sources, checks and the census."""

import os
import socket
from collections.abc import Callable, Iterable
from pathlib import Path

from holdfast.model import manifest as manifests
from holdfast.model.settings import CheckSettings, Settings, SettingsError, SourceSettings, parse
from holdfast.node import checks
from holdfast.node.agent.census import Census
from holdfast.node.agent.node import Question
from holdfast.node.agent.optional import ACTIVE_PREFIX, left_out
from holdfast.node.probes.active.probes import PROBES
from holdfast.node.probes.active.source import ActiveSource
from holdfast.node.sources.fabric.counters import InfinibandCountersSource
from holdfast.node.sources.fabric.ethtool import EthtoolSource
from holdfast.node.sources.fabric.infiniband import InfinibandSource
from holdfast.node.sources.fabric.subnet import IbFabricSource
from holdfast.node.sources.gpu.amdgpu import AmdGpuSource
from holdfast.node.sources.gpu.dcgm import DcgmDiagSource
from holdfast.node.sources.gpu.dcgm_exporter import DcgmExporterSource
from holdfast.node.sources.gpu.fabric_manager import FabricManagerSource
from holdfast.node.sources.gpu.nvml import NvmlSlowSource, NvmlSource
from holdfast.node.sources.host.clock import ClockSource
from holdfast.node.sources.host.host import HostSource
from holdfast.node.sources.host.kmsg import KmsgSource
from holdfast.node.sources.host.pcie import PcieSource
from holdfast.node.sources.host.repairs import RepairsSource
from holdfast.node.sources.host.storage import SharedStorageSource
from holdfast.node.sources.jobs.jobs import JobsSource
from holdfast.node.sources.jobs.socket import JobSocketSource
from holdfast.runtime.source import Source

DEFAULT_CONFIG = "/etc/holdfast/holdfast.toml"
LIMITS = {check.name: dict(check.limits) for check in checks.ALL}


def load_settings(path: str = "") -> Settings:
    """The configuration file if given or installed, else the defaults. Raises SettingsError in one sentence."""
    chosen = path or DEFAULT_CONFIG
    try:
        text = Path(chosen).read_text(encoding="utf-8")
    except FileNotFoundError:
        if path:
            raise SettingsError(f"{path}: no such file; expected a TOML configuration") from None
        return Settings()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{chosen}: cannot be read: {error}") from None
    return parse(text, chosen, LIMITS, SOURCES | {JobSocketSource.name})


def node_name(settings: Settings) -> str:
    """The node's name. In a pod it comes from the environment, so that one configuration serves all nodes."""
    return settings.node or os.environ.get("HOLDFAST_NODE") or socket.gethostname().split(".", 1)[0]


def census(settings: Settings) -> Census:
    """The expected parts of this node from its manifest, if it has one."""
    name = node_name(settings)
    path = settings.agent.manifest
    if not path:
        return Census(node=name)
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: the manifest cannot be read: {error}") from None
    manifest = manifests.parse(text, path)
    refuse_unknown_parts(manifest.lacks, path)
    return Census(
        node=name,
        manifest_lacks=manifest.lacks_by(),
        expect=manifests.expectations(manifest, name),
    )


def refuse_unknown_parts(lacks: Iterable[str], origin: str) -> None:
    """Refuse unknown names: a misspelt part would leave its checks unknown without a message."""
    known = checks.PARTS | set(manifests.with_implied(checks.PARTS))
    for part in lacks:
        if part not in known:
            raise SettingsError(
                f"{origin}: lacks: no part is called {part!r}; expected one of {', '.join(sorted(known))}"
            )


def questions(settings: Settings, stage: str) -> list[Question]:
    """The checks of a stage, with this node's limits; switched-off ones stay visible as such."""
    names = settings.stages.get(stage) or checks.STAGES.get(stage)
    if names is None:
        known = ", ".join(sorted({*checks.STAGES, *settings.stages}))
        raise SettingsError(f"no stage is called {stage!r}; expected one of {known}")
    return [_question(settings, name, left_out(settings, name, stage, census)) for name in names]


def questions_of_itself(settings: Settings) -> list[Question]:
    """Checks that only a running agent can answer. A one-shot check would report them as unknown."""
    return [_question(settings, name) for name in checks.OF_THE_AGENT]


def _question(settings: Settings, name: str, left_out: str = "") -> Question:
    own = settings.checks.get(name, CheckSettings())
    off = left_out or ("" if own.enabled else "switched off in the configuration")
    return Question(checks.BY_NAME[name], own.limits, off)


def sources(settings: Settings, stage: str) -> list[Source]:
    """Every enabled source of a stage, on its configured cadence."""
    chosen = []
    for name in stage_sources(stage):
        own = settings.sources.get(name, SourceSettings())
        if not own.enabled or (name in ASKED_FOR and name not in settings.sources):
            continue
        if name == ActiveSource.name and not _active(settings, stage):
            continue
        source = _FACTORIES[name](settings)
        if own.every_seconds is not None:
            source.every = own.every_seconds
        chosen.append(source)
    return chosen


def job_socket(settings: Settings) -> JobSocketSource | None:
    """Path of the job socket, next to the verdict file. Only the agent opens it, not a one-shot check."""
    own = settings.sources.get(JobSocketSource.name, SourceSettings())
    if not own.enabled:
        return None
    source = JobSocketSource(str(Path(settings.agent.verdict_file).with_name("jobs.sock")), settings.roots.proc)
    source.every = own.every_seconds or source.every
    return source


def stage_sources(stage: str) -> list[str]:
    """Expensive sources run only where a check needs them."""
    return [name for name in _FACTORIES if stage == "bootstrap" or name not in COSTLY]


def _active(settings: Settings, stage: str) -> tuple[str, ...]:
    """The probes that a check of the stage needs."""
    asked = {question.check.name for question in questions(settings, stage) if not question.off}
    return tuple(probe for probe in PROBES if f"{ACTIVE_PREFIX}{probe}" in asked)


def _probes(settings: Settings) -> ActiveSource:
    gpus = NvmlSource(node_name(settings), settings.roots.nvml)
    stand_ins = (lambda: len(gpus.read(0.0).present)) if settings.agent.twin else int
    return ActiveSource(node_name(settings), settings.probes.seconds, stand_ins, _active(settings, "bootstrap"))


def _excluded(settings: Settings, source: str) -> tuple[str, ...]:
    return settings.sources.get(source, SourceSettings()).exclude


def _nvml_slow(settings: Settings) -> NvmlSlowSource:
    return NvmlSlowSource(node_name(settings), settings.roots.nvml, _excluded(settings, "nvml"))


def _jobs(settings: Settings) -> JobsSource:
    gpus = _nvml_slow(settings)
    return JobsSource(node_name(settings), settings.roots.proc, gpus.processes)


def _ledger(settings: Settings) -> str:
    """The file of port outages; None without a state directory."""
    return str(Path(settings.agent.state_dir) / "ports.jsonl") if settings.agent.state_dir else ""


_FACTORIES: dict[str, Callable[[Settings], Source]] = {
    "nvml": lambda s: NvmlSource(node_name(s), s.roots.nvml, _excluded(s, "nvml")),
    "nvml_slow": _nvml_slow,
    "amdgpu": lambda s: AmdGpuSource(node_name(s), s.roots.sys, _excluded(s, "amdgpu")),
    "jobs": _jobs,
    "kmsg": lambda s: KmsgSource(node_name(s), s.roots.kmsg, proc=s.roots.proc, sys=s.roots.sys),
    "infiniband": lambda s: InfinibandSource(node_name(s), s.roots.sys, _excluded(s, "infiniband"), _ledger(s)),
    "infiniband_counters": lambda s: InfinibandCountersSource(node_name(s), s.roots.sys, _excluded(s, "infiniband")),
    "ethtool": lambda s: EthtoolSource(node_name(s), s.roots.sys, _excluded(s, "infiniband")),
    "pcie": lambda s: PcieSource(node_name(s), s.roots.sys, _excluded(s, "pcie")),
    "host": lambda s: HostSource(node_name(s), s.roots.sys, s.roots.proc, s.agent.mounts, s.agent.modules),
    "clock": lambda s: ClockSource(node_name(s), s.roots.timex),
    "shared_storage": lambda s: SharedStorageSource(node_name(s), s.agent.shared_mounts, proc=s.roots.proc),
    "repairs": lambda s: RepairsSource(s.agent.state_dir),
    "fabric_manager": lambda s: FabricManagerSource(node_name(s), s.roots.proc),
    "dcgm_exporter": lambda s: DcgmExporterSource(node_name(s), s.roots.dcgm_exporter),
    "ib_fabric": lambda s: IbFabricSource(),
    "dcgm_diag": lambda s: DcgmDiagSource(node_name(s), s.roots.dcgmi),
    "probes": _probes,
}
COSTLY = ("dcgm_diag", "probes")
"""Sources that take the whole node: read at bootstrap only, after the others and one after another."""
ASKED_FOR = ("ib_fabric",)
"""Sources of more than this node: read only where the configuration names them."""
SOURCES = frozenset(_FACTORIES)
