"""Settings: one TOML file. A wrong key is refused at start with its location and the expected value."""

import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar

T = TypeVar("T")


class SettingsError(ValueError):
    """The configuration cannot be used; the message says what, where and what was expected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Roots:
    """Paths of the machine's interfaces. Every source takes its root from here, so a captured tree is a test double."""

    sys: str = "/sys"
    proc: str = "/proc"
    kmsg: str = "/dev/kmsg"
    nvml: str = ""  # a path to libnvidia-ml.so.1; '' lets the dynamic linker find it
    timex: str = ""  # a file with clock state for twins; '' asks the kernel (adjtimex)
    dcgmi: str = "dcgmi"
    dcgm_exporter: str = ""  # a URL to scrape; '' means not configured


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSettings:
    state_dir: str = "/var/lib/holdfast"
    verdict_file: str = "/run/holdfast/verdict.json"
    listen: str = "127.0.0.1:9476"  # '' switches the loopback HTTP server off
    manifest: str = ""  # file with the expected parts of this node, written by `holdfast node learn`
    mounts: tuple[str, ...] = ("/",)  # local file systems to watch
    shared_mounts: tuple[str, ...] = ()  # shared storage that must answer within a deadline
    modules: tuple[str, ...] = ()  # kernel modules that must be loaded
    twin: bool = False  # the node is simulated; its readings are marked
    suite: str = "1"  # name of the full suite that this configuration defines; the policy refers to it


AGENT_VERBS = ("retest", "reset_gpu", "reboot", "probe")  # verbs that an agent can carry out


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerSettings:
    """The controller that the agent reports to, and the orders it obeys."""

    url: str = ""  # such as https://holdfast.example:9477; '' means that it does not report
    standby_urls: tuple[str, ...] = ()  # other controllers of the same store, used if this one does not answer
    join_token_file: str = ""  # lets the agent enrol, also again when its credential has expired
    credential_file: str = ""  # '' means `credential` in the state directory
    ca_file: str = ""  # '': the certificates that this machine trusts
    pool: str = "default"
    place: Mapping[str, str] = field(default_factory=dict)  # rack, loop, leaf, feed that the node shares with others
    obeys: tuple[str, ...] = ("retest",)  # verbs that are carried out; every other order is refused
    timeout_seconds: float = 15.0  # timeout of one request
    retest_budget_seconds: float = 1800.0  # a suite that takes longer is ended and counts as unknown
    reboot_command: tuple[str, ...] = ()  # an argument list, never a shell; needed where `obeys` lists reboot


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeSettings:
    """The active part of the full suite: tests that need the whole node."""

    active: bool | None = None  # None: where torch is installed, and not on a simulated node
    seconds: float | None = None  # for each probe; None: a second on a CPU, more on GPUs
    history: str = ""  # where results are kept; '' means `probes.jsonl` in the state directory, if that is there


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSettings:
    enabled: bool = True
    every_seconds: float | None = None  # None keeps the source's own cadence
    exclude: tuple[str, ...] = ()  # device names or PCI addresses that are never opened


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckSettings:
    enabled: bool = True
    limits: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    node: str = ""  # '' means this machine's short host name
    roots: Roots = Roots()
    agent: AgentSettings = AgentSettings()
    controller: ControllerSettings = ControllerSettings()
    probes: ProbeSettings = ProbeSettings()
    sources: Mapping[str, SourceSettings] = field(default_factory=dict)
    checks: Mapping[str, CheckSettings] = field(default_factory=dict)
    stages: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def parse(text: str, origin: str, checks: Mapping[str, Mapping[str, float]], sources: Collection[str] = ()) -> Settings:
    """Read a configuration. `checks` maps each known check to its limits; unknown names are errors."""
    try:
        raw = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise SettingsError(f"{origin}: not valid TOML: {error}") from None
    _only(raw, {"node", "roots", "agent", "controller", "probes", "sources", "checks", "stages"}, origin, "top level")
    node = raw.get("node", "")
    if not isinstance(node, str):
        raise SettingsError(f"{origin}: node: expected a name, found {node!r}")
    return Settings(
        node=node,
        roots=_fill(Roots, raw.get("roots", {}), origin, "roots"),
        agent=_fill(AgentSettings, raw.get("agent", {}), origin, "agent"),
        controller=_controller(raw.get("controller", {}), origin),
        probes=_probes(raw.get("probes", {}), origin),
        sources=_sources(raw.get("sources", {}), origin, sources),
        checks=_checks(raw.get("checks", {}), origin, checks),
        stages=_stages(raw.get("stages", {}), origin, checks),
    )


def _controller(raw: Any, origin: str) -> ControllerSettings:
    found = _fill(ControllerSettings, raw, origin, "controller")
    if found.url and not found.url.startswith(("http://", "https://")):
        raise SettingsError(f"{origin}: controller.url: expected an http or https address, found {found.url!r}")
    for verb in found.obeys:
        if verb not in AGENT_VERBS:
            raise SettingsError(
                f"{origin}: controller.obeys: an agent cannot {verb!r}; expected some of {', '.join(AGENT_VERBS)}"
            )
    if "reboot" in found.obeys and not found.reboot_command:
        raise SettingsError(f"{origin}: controller.reboot_command: expected an argument list, since obeys lists reboot")
    return found


def _probes(raw: Any, origin: str) -> ProbeSettings:
    _only(raw, {f.name for f in fields(ProbeSettings)}, origin, "probes")
    active = raw.get("active")
    if active is not None and not isinstance(active, bool):
        raise SettingsError(f"{origin}: probes.active: expected true or false, found {active!r}")
    others = {key: value for key, value in raw.items() if key != "active"}
    return replace(_fill(ProbeSettings, others, origin, "probes"), active=active)


def _sources(raw: Any, origin: str, known: Collection[str]) -> dict[str, SourceSettings]:
    _only(raw, set(known), origin, "sources")
    return {name: _fill(SourceSettings, table, origin, f"sources.{name}") for name, table in raw.items()}


def _checks(raw: Any, origin: str, known: Mapping[str, Mapping[str, float]]) -> dict[str, CheckSettings]:
    _only(raw, set(known), origin, "checks")
    out = {}
    for name, table in raw.items():
        place = f'checks."{name}"'
        _only(table, {"enabled", *known[name]}, origin, place)
        limits = {key: value for key, value in table.items() if key != "enabled"}
        for key, value in limits.items():
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise SettingsError(f"{origin}: {place}.{key}: expected a number, found {value!r}")
        enabled = table.get("enabled", True)
        if not isinstance(enabled, bool):
            raise SettingsError(f"{origin}: {place}.enabled: expected true or false, found {enabled!r}")
        out[name] = CheckSettings(enabled=enabled, limits=limits)
    return out


def _stages(raw: Any, origin: str, known: Collection[str]) -> dict[str, tuple[str, ...]]:
    if not isinstance(raw, dict):
        raise SettingsError(f"{origin}: stages: expected a table of lists of check names, found {raw!r}")
    for stage, names in raw.items():
        if not isinstance(names, list):
            raise SettingsError(f"{origin}: stages.{stage}: expected a list of check names, found {names!r}")
        for name in names:
            if name not in known:
                raise SettingsError(f"{origin}: stages.{stage}: no check is called {name!r}")
    return {stage: tuple(names) for stage, names in raw.items()}


def _only(table: Any, allowed: Collection[str], origin: str, place: str) -> None:
    if not isinstance(table, dict):
        raise SettingsError(f"{origin}: {place}: expected a table, found {table!r}")
    for key in table:
        if key not in allowed:
            raise SettingsError(f"{origin}: {place}: unknown key {key!r}; expected one of {', '.join(sorted(allowed))}")


def _fill(kind: type[T], table: Any, origin: str, place: str) -> T:
    """A settings dataclass from a TOML table, each value checked against the type of its default."""
    defaults = kind()
    _only(table, {f.name for f in fields(kind)}, origin, place)  # type: ignore[arg-type]
    values = {}
    for key, value in table.items():
        default = getattr(defaults, key)
        values[key] = _typed(value, default, f"{origin}: {place}.{key}")
    return kind(**values)


def _typed(value: Any, default: Any, place: str) -> Any:
    if isinstance(default, dict):
        if isinstance(value, dict) and all(isinstance(item, str) for item in value.values()):
            return value
        raise SettingsError(f"{place}: expected a table of names, found {value!r}")
    if isinstance(default, tuple):
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return tuple(value)
        raise SettingsError(f"{place}: expected a list of strings, found {value!r}")
    if isinstance(default, bool) or isinstance(value, bool):
        if isinstance(value, bool) and isinstance(default, bool):
            return value
        raise SettingsError(
            f"{place}: expected {'true or false' if isinstance(default, bool) else 'another type'}, found {value!r}"
        )
    if default is None or isinstance(default, float):
        if isinstance(value, int | float) and value > 0:
            return float(value)
        raise SettingsError(f"{place}: expected a positive number, found {value!r}")
    if not isinstance(value, str):
        raise SettingsError(f"{place}: expected a string, found {value!r}")
    return value
