"""Signals and verdicts as Prometheus metrics. The subject becomes labels."""

from collections.abc import Iterable

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from holdfast.model.signal import Value
from holdfast.model.subject import Subject
from holdfast.node.agent.node import Node
from holdfast.runtime import threads

HEALTH_CODES = {"pass": 0, "degraded": 1, "fail": 2, "unknown": 3, "not_applicable": 4, "disabled": 5}
CODES_HELP = ", ".join(f"{code} {name}" for name, code in HEALTH_CODES.items())


def families(node: Node, now: float) -> list[Metric]:
    """Metric families of fresh values only: a stale value must not look like a reading."""
    by_name: dict[str, list[tuple[Subject, Value]]] = {}
    for subject, name, value, _ in node.history.latest(now):
        by_name.setdefault(name, []).append((subject, value))
    return [
        *_verdicts(node),
        _blind(node),
        _components(),
        *(_family(name, samples) for name, samples in by_name.items()),
    ]


def _verdicts(node: Node) -> list[Metric]:
    checks = GaugeMetricFamily("holdfast_check_health", f"Verdict per check: {CODES_HELP}.", labels=["check"])
    rows = GaugeMetricFamily(
        "holdfast_subject_health",
        f"Verdict per check and subject, other than pass: {CODES_HELP}.",
        labels=["check", "subject"],
    )
    for verdict in node.verdicts.values():
        checks.add_metric([verdict.check], HEALTH_CODES[verdict.state])
        for row in verdict.rows:
            if row.health.value not in ("pass", "not_applicable"):
                rows.add_metric([verdict.check, row.subject], HEALTH_CODES[row.health.value])
    whole = GaugeMetricFamily("holdfast_node_health", f"The node's health: {CODES_HELP}.")
    whole.add_metric([], HEALTH_CODES[node.health.value])
    return [whole, checks, rows]


def _blind(node: Node) -> Metric:
    blind = GaugeMetricFamily("holdfast_source_blind", "Sources that see nothing at all.", labels=["source"])
    for source in node.history.blind_sources():
        blind.add_metric([source], 1.0)
    return blind


def _components() -> Metric:
    """Agent threads that raised an exception; the log has the details."""
    failed = CounterMetricFamily(
        "holdfast_agent_component_failures_total", "Failures of the agent's own threads.", labels=["component"]
    )
    for one in threads.process.all:
        failed.add_metric([one.name], one.total)
    return failed


def _family(name: str, samples: Iterable[tuple[Subject, Value]]) -> Metric:
    samples = list(samples)
    full = f"holdfast_{name}"
    text = name.replace("_", " ")
    if any(isinstance(value, str) for _, value in samples):
        info = GaugeMetricFamily(f"{full}_info", f"Identity: {text}.", labels=["subject", "value"])
        for subject, value in samples:
            info.add_metric([subject, str(value)], 1.0)
        return info
    kind = CounterMetricFamily if name.endswith("_total") else GaugeMetricFamily
    family = kind(full, f"Measured: {text}.", labels=["subject"])
    for subject, value in samples:
        family.add_metric([subject], float(value))
    return family
