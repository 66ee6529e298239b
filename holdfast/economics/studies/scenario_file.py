"""Reads a scenario file in TOML: the simulated cluster and its policy."""

from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from holdfast.config.tables import Document
from holdfast.config.text_file import read_text
from holdfast.economics.simulation import scenario as s
from holdfast.economics.simulation.spread import Spread, fixed
from holdfast.economics.studies.hazards import hazards
from holdfast.economics.studies.scenario_table import ScenarioTable as Table
from holdfast.economics.studies.sense import refuse_absurd, refuse_endless
from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.model.refusal import Refusal

SECTIONS = ("title", "assumptions", "reported", "price_per_gpu_hour", "cluster", "policy", "job", "checkpoint",
            "restart", "repair", "part", "hazard", "maintenance")  # fmt: skip
LEAST_EVERY = 60.0  # seconds between planned works
SAME = {"rate": ("events", "unit_years"), "events": ("rate",)}  # alternative keys: the later one wins


@dataclass(frozen=True, slots=True)
class ScenarioFile:
    """The parsed file."""

    scenario: s.Scenario
    policy: Policy
    price: float  # dollars per GPU-hour; 0: not given
    reported: tuple[str, ...] = ()  # published figures of the real cluster, to compare with


def load(path: str, changes: dict[str, Any] | None = None) -> ScenarioFile:
    return parse(read_text(path), path, changes)


def parse(text: str, origin: str, changes: dict[str, Any] | None = None) -> ScenarioFile:
    """Parses a scenario. `changes` override values of the file: 'policy.spares', 'repair.time'."""
    document = Document(text, origin)
    for key, value in (changes or {}).items():
        _put(document, key, value)
    top = Table(document, document.raw, "")
    top.only(SECTIONS)
    cluster = _cluster(Table(document, top.raw("cluster", {}), "cluster"))
    made = ScenarioFile(
        s.Scenario(
            title=top.text("title", Path(origin).stem),
            cluster=cluster,
            jobs=_jobs(document, top, cluster),
            hazards=hazards(_tables(document, top, "hazard")),
            repair=_repair(document, top),
            maintenance=tuple(_maintenance(table) for table in _tables(document, top, "maintenance")),
            assumptions=_sentences(top, "assumptions"),
        ),
        _policy(document, top),
        top.number("price_per_gpu_hour", 0.0, 0.0, 1e6),
        _sentences(top, "reported"),
    )
    refuse_absurd(document, made.scenario, made.policy)
    refuse_endless(document, made.scenario)
    return made


def _put(document: Document, key: str, value: Any) -> None:
    """Sets a value in a table, or in all tables of that name."""
    section, _, name = key.rpartition(".")
    section, _, index = section.rstrip("]").partition("[")
    found = document.raw.setdefault(section, {}) if section else document.raw
    if (index and not isinstance(found, list)) or not isinstance(found, dict | list):
        raise Refusal(f"--set: {key}: expected a key of the file's tables, such as repair.crews or hazard[0].rate")
    tables = found if isinstance(found, list) else [found]
    if index and int(index) >= len(tables):
        raise Refusal(f"--set: {key}: expected a number below {len(tables)}, the number of [[{section}]] in the file")
    for table in tables[int(index) : int(index) + 1] if index else tables:
        if isinstance(table, dict):
            for other in SAME.get(name, ()):
                table.pop(other, None)
            table[name] = value


def _policy(document: Document, top: Table) -> Policy:
    """The policy of the lifecycle. Spares are additional nodes that are held back."""
    Table(document, top.raw("policy", {}), "policy").only([one.name for one in fields(Policy)])
    policy = document.fill(Policy, top.raw("policy", {}), "policy")
    spares = top.raw("cluster", {}).get("spares", 0)
    if spares and policy.spares:
        raise document.refuse("policy", "spares", "is given twice: spares of the cluster are held back already")
    return replace(policy, spares=spares) if spares else policy


def _tables(document: Document, top: Table, name: str) -> list[Table]:
    found = top.raw(name, [])
    if not isinstance(found, list):
        raise document.refuse("", name, f"expected tables headed [[{name}]]")
    return [Table(document, values, f"{name}[{number}]") for number, values in enumerate(found)]


def _sentences(top: Table, key: str) -> tuple[str, ...]:
    found = top.raw(key, [])
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise top.wrong(key, "expected a list of texts")
    return tuple(found)


def _cluster(table: Table) -> s.Cluster:
    per_node = table.integer("gpus_per_node", 8, 1, 10_000)
    nodes = table.integer("nodes", None if "gpus" not in table else 0, 0, 2_000_000)
    if "gpus" in table:
        if nodes:
            raise table.wrong("gpus", "says the same as nodes: expected one of them")
        nodes = -(-table.integer("gpus", None, 1, 16_000_000) // per_node)
    if nodes < 1:
        raise table.wrong("nodes", "expected 1 or more")
    made = s.Cluster(
        nodes=nodes + table.integer("spares", 0),
        gpus_per_node=per_node,
        days=table.number("days", 30.0, 1e-3, 36_500),
        nodes_per_rack=table.integer("nodes_per_rack", 8, 1),
        racks_per_loop=table.integer("racks_per_loop", 8, 1),
        nodes_per_leaf=table.integer("nodes_per_leaf", 16, 1),
        racks_per_feed=table.integer("racks_per_feed", 16, 1),
    )
    table.done()
    return made


def _repair(document: Document, top: Table) -> s.Repair:
    table = Table(document, top.raw("repair", {}), "repair")
    usual = s.Repair()
    made = s.Repair(
        crews=table.integer("crews", usual.crews, 1),
        time=table.spread("time") or usual.time,
        reset=table.spread("reset") or usual.reset,
        reboot=table.spread("reboot") or usual.reboot,
        test=table.spread("test") or usual.test,
        test_misses=table.share("test_misses"),
        relapse=table.spread("relapse") or usual.relapse,
        parts=tuple(_part(one) for one in _tables(document, top, "part")),
    )
    if made.test.mean <= 0:
        raise table.wrong("test", "expected a duration above 0: a test that takes no time proves nothing")
    table.done()
    return made


def _part(table: Table) -> s.SparePart:
    made = s.SparePart(
        name=table.name(), stock=table.integer("stock", 0), lead=table.spread("lead") or s.SparePart(name="").lead
    )
    table.done()
    return made


def _maintenance(table: Table) -> s.PlannedMaintenance:
    made = s.PlannedMaintenance(
        every=table.seconds("every"),
        nodes=table.integer("nodes", None, 1),
        lasts=fixed(table.seconds("lasts")),
    )
    if made.every < LEAST_EVERY:
        raise table.wrong("every", "expected a minute or more")
    table.done()
    return made


def _jobs(document: Document, top: Table, cluster: s.Cluster) -> tuple[s.SimulatedJob, ...]:
    restart = _restart(Table(document, top.raw("restart", {}), "restart"))
    written = Table(document, top.raw("checkpoint", {}), "checkpoint")
    tables = _tables(document, top, "job")
    if not tables:
        raise Refusal(f"{document.origin}: no [[job]]: expected at least one, such as one with nodes = {cluster.nodes}")
    checkpoints = _checkpoints(written)
    jobs = tuple(_job(table, checkpoints, restart, cluster) for table in tables)
    if len({job.name for job in jobs}) < len(jobs):
        raise document.refuse("job[1]", "name", "two jobs have the same name")
    return jobs


def _job(table: Table, checkpoints: s.Checkpoints, restart: s.RestartStages, cluster: s.Cluster) -> s.SimulatedJob:
    nodes = table.integer("nodes", None, 1)
    if nodes > cluster.nodes:
        raise table.wrong("nodes", f"{nodes} are more than the {cluster.nodes} of the cluster: it could never start")
    made = s.SimulatedJob(
        name=table.name(),
        nodes=nodes,
        checkpoints=checkpoints,
        restart=restart,
        priority=table.integer("priority", 0, -1000, 1000),
        work=table.seconds("work") if "work" in table else None,
        submitted=table.seconds("submitted", "0s"),
    )
    table.raw("work")
    table.done()
    return made


def _checkpoints(table: Table) -> s.Checkpoints:
    survives = table.raw("memory_survives", ["gpu", "node"])
    known = [one.value for one in s.SimulatedDomain]
    if not isinstance(survives, list) or not all(one in known for one in survives):
        raise table.wrong("memory_survives", f"expected a list of {', '.join(known)}, found {survives!r}")
    made = s.Checkpoints(
        interval=table.seconds("interval", "30m"),
        write=table.seconds("write", "30s"),
        memory_interval=table.seconds("memory_interval", "0s"),
        memory_write=table.seconds("memory_write", "0s"),
        memory_survives=frozenset(s.SimulatedDomain(one) for one in survives),
    )
    if made.interval <= 0 or made.memory_interval < 0:
        raise table.wrong("interval", "expected a duration above 0")
    if made.memory_interval > made.interval:
        raise table.wrong("memory_interval", "expected one no longer than interval")
    table.done()
    return made


def _restart(table: Table) -> s.RestartStages:
    usual = s.RestartStages()

    def stage(key: str, default: Spread) -> Spread:
        return table.spread(key) or default

    made = s.RestartStages(
        detect=stage("detect", usual.detect),
        diagnose=stage("diagnose", usual.diagnose),
        reschedule=stage("reschedule", usual.reschedule),
        load=stage("load", usual.load),
        load_memory=stage("load_memory", usual.load_memory),
        warm_up=stage("warm_up", usual.warm_up),
    )
    table.done()
    return made
