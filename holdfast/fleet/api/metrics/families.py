"""Metric families from plain mappings, and a registry that exposes each once."""

from collections.abc import Iterable, Mapping

from prometheus_client import generate_latest
from prometheus_client.core import (
    CollectorRegistry,
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from holdfast.runtime.durations import Durations

Labelled = Mapping[tuple[str, ...], float]


class _Families(Collector):
    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = list(families)

    def collect(self) -> Iterable[Metric]:
        return self._families


def as_text(families: Iterable[Metric]) -> str:
    registry = CollectorRegistry()
    registry.register(_Families(families))
    return generate_latest(registry).decode()


def gauge(name: str, text: str, labels: tuple[str, ...], values: Labelled) -> Metric:
    family = GaugeMetricFamily(name, text, labels=labels)
    for found, value in values.items():
        family.add_metric(found, float(value))
    return family


def histogram(name: str, text: str, values: Durations) -> Metric:
    family = HistogramMetricFamily(name, text)
    family.add_metric((), [(bound, float(count)) for bound, count in values.cumulative()], values.total)
    return family


def counter(name: str, text: str, labels: tuple[str, ...], values: Labelled) -> Metric:
    family = CounterMetricFamily(name, text, labels=labels)
    for found, value in values.items():
        family.add_metric(found, float(value))
    return family
