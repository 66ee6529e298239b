"""Write docs/agreement.md: published values, our values, and the allowed difference.

With --check nothing is written: it fails if a row is out of tolerance or the page is not what the code says.
Rows on Titan's lifetimes need the data; without it they say so, and the page's figures are left as they are.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from math import expm1
from pathlib import Path

from holdfast.economics.costs import checkpointing as c
from holdfast.economics.costs.incident import IncidentLoss, layers
from holdfast.economics.costs.limits import ScaledRun, wall
from holdfast.economics.costs.pricing import Offer
from holdfast.economics.costs.replicas import loss_chance
from holdfast.economics.costs.spares import mean_out, spares_for
from holdfast.economics.costs.survival import chance_of_failure, exact_interval, rate_from_probability

APART = "computed separately, with other tools"
PAGE = Path(__file__).parent.parent / "docs" / "agreement.md"
LLAMA_SECONDS = 54 * 86_400 / 419
EPOCH = 50_000 * 3600.0
LLAMA_CAUSES = {
    "faulty GPU": 148, "GPU HBM3 memory": 72, "software bug": 54, "network switch or cable": 35,
    "host maintenance": 32, "GPU SRAM memory": 19, "GPU system processor": 17, "NIC": 7, "NCCL watchdog": 7,
    "silent data corruption": 6, "GPU thermal interface and sensor": 6, "SSD": 3, "power supply": 3,
    "server chassis": 2, "IO expansion board": 2, "dependency": 2, "CPU": 2, "system memory": 2,
}  # fmt: skip
LLAMA_GPU = ("faulty GPU", "GPU HBM3 memory", "GPU SRAM memory", "GPU system processor", "silent data corruption",
             "GPU thermal interface and sensor")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Row:
    what: str
    reference: float
    ours: float
    allowed: float  # relative difference
    source: str
    show: str = ".4g"
    remark: str = ""

    @property
    def difference(self) -> float:
        return abs(self.ours - self.reference) / abs(self.reference)

    @property
    def agrees(self) -> bool:
        return self.difference <= self.allowed

    def line(self) -> str:
        verdict = "yes" if self.agrees else "**NO**"
        return (
            f"| {self.what} | {format(self.reference, self.show)} | {format(self.ours, self.show)} |"
            f" {100 * self.difference:.2f} % | {100 * self.allowed:.1f} % | {verdict} |"
            f" {self.source}{_remark(self.remark)} |"
        )


def _remark(text: str) -> str:
    return f"; {text}" if text else ""


def compounding() -> list[Row]:
    rate = rate_from_probability(0.01)
    source = "Databricks 2026 (19 %, 57 %); digits by the same formula"
    return [
        Row("chance of a failure, 256 GPUs x 30 d at 1 %", 0.1906, chance_of_failure(256, 30, rate), 5e-4, source),
        Row("chance of a failure, 1,024 GPUs x 30 d at 1 %", 0.5708, chance_of_failure(1024, 30, rate), 5e-4, source),
    ]


def intervals() -> list[Row]:
    """Daly beside a search over the exact expected time on a 0.1 s grid."""
    rows = []
    for write in (2.5, 20.0, 60.0, 300.0):
        grid = _searched(write)
        ours = c.daly_higher_order(write, LLAMA_SECONDS)
        rows.append(
            Row(f"best interval at d = {write:g} s, M = 11,135 s (s)", grid, ours, 1e-3, "search on a grid", ".1f",
                "Daly 2006, higher order, against a grid of 0.1 s")
        )  # fmt: skip
    source = "arXiv 2605.17821, as quoted by others"
    rows.append(Row("best interval, 16,384 GPUs (min)", 4.0, c.young(2.5, EPOCH / 16_384) / 60, 0.03, source, ".2f"))
    waste = 2.5 / c.young(2.5, EPOCH / 16_384) * 2
    rows.append(Row("its overhead, 16,384 GPUs", 0.021, waste, 0.02, source, ".4f", "first order"))
    return rows


def _searched(write: float) -> float:
    """On the definition itself, e^((tau+d)/M) - 1 over tau, with none of our formulas inside."""
    tenths = range(1000, 30_000)
    return min(tenths, key=lambda n: expm1((n / 10 + write) / LLAMA_SECONDS) / n) / 10


def closed_form() -> list[Row]:
    tau = c.best_interval(60, LLAMA_SECONDS)
    return [
        Row("ETTR at d = 60 s, R = 10 min: Meta's form beside the exact one",
            c.ettr(tau, 60, LLAMA_SECONDS, 600), c.closed_form(tau, 60, LLAMA_SECONDS, 600).ettr, 0.014,
            "arXiv 2410.21680; the tolerance is what a public model found inside validity"),
    ]  # fmt: skip


def scaling() -> list[Row]:
    storage = ScaledRun(gpu_seconds_between=EPOCH, state_bytes=5e12, bytes_per_second=2e12)
    growing = ScaledRun(gpu_seconds_between=EPOCH, state_bytes=5e12, bytes_per_second=2e12, growing=True)
    epoch = "Epoch AI 2024"
    return [
        Row("minutes between failures, 100,000 GPUs", 30.0, EPOCH / 100_000 / 60, 1e-6, epoch),
        Row("minutes between failures, 1,000,000 GPUs", 3.0, EPOCH / 1_000_000 / 60, 1e-6, epoch),
        Row("largest run on storage, fixed model (M GPUs)", 70.0, wall(storage) / 1e6, 0.05, f"{epoch}, printed ~70 M",
            ".2f", "criterion: a write takes as long as the time between failures, chosen because it gives ~70 M"),
        Row("largest run on storage, growing model (M GPUs)", 4.0, wall(growing) / 1e6, 0.12, f"{epoch}, printed ~4 M",
            ".2f", "nothing left to tune here"),
    ]  # fmt: skip


def observed() -> list[Row]:
    rsc = 8 * 24 / 6.5e-3  # GPU-hours per failure
    low, high = exact_interval(24)
    hours = 608 * 146 * 24.0
    delta = "Delta, arXiv 2503.11901 v4"
    return [
        Row("RSC-1: hours between failures at 16,384 GPUs", 1.8, rsc / 16_384, 0.01, "arXiv 2410.21680", ".3f"),
        Row("RSC-1: hours between failures at 131,072 GPUs", 0.23, rsc / 131_072, 0.03, "arXiv 2410.21680", ".3f"),
        Row("Llama 3: interruptions", 419, sum(LLAMA_CAUSES.values()), 0.0, "arXiv 2407.21783, table 5", "g"),
        Row("Llama 3: hours between interruptions", 3.09, LLAMA_SECONDS / 3600, 2e-3, "54 d / 419", ".3f"),
        Row("Delta H100: hours between memory errors, from 24 events", 88_768, hours / 24, 1e-6, delta, ",.0f"),
        Row("  its 95 % interval, from (thousand h)", 59.7, hours / high / 1e3, 1e-3, "exact Poisson", ".1f"),
        Row("  to (thousand h)", 138.5, hours / low / 1e3, 1e-3, "exact Poisson", ".1f"),
    ]


def spares() -> list[Row]:
    rows = []
    # One crew for each failure: nodes out are Poisson.
    for nodes, rate, days, wanted in (
        (2048, 3.79e-3, 3, (31, 35, 40)),
        (2048, 6.5e-3, 3, (51, 55, 61)),
        (2048, 6.5e-3, 14, (209, 219, 230)),
        (128, 6.5e-3, 3, (5, 7, 9)),
    ):
        for level, count in zip((0.95, 0.99, 0.999), wanted, strict=True):
            rows.append(
                Row(f"spares, {nodes} nodes, {1000 * rate:g}/1,000 node-days, {days} d, {100 * level:.1f} %", count,
                    spares_for(level, mean_out(nodes, rate, days)), 0.0, APART, "g")
            )  # fmt: skip
    return rows


def memory_copies() -> list[Row]:
    source = f"GEMINI's formula (SOSP'23), pairs, {APART}"
    return [
        Row(f"copies survive, {nodes} nodes, {dead} dead", kept, 1 - loss_chance(nodes, 2, dead), 5e-4, source, ".4f")
        for nodes, dead, kept in ((16, 2, 0.933), (16, 3, 0.800), (128, 2, 0.992), (1024, 2, 0.999))
    ]


def money() -> list[Row]:
    incident = IncidentLoss(gpus=1024, price=2.35, detect_hours=1.25, rework_hours=0.5, slow_share=0.2, slow_hours=2,
                        people=4, people_hours=3)  # fmt: skip
    five = {layer.name: layer.cost or 0.0 for layer in layers(incident)}
    source = APART
    return [
        Row(
            "$2.00 at a goodput of 0.90", 2.222, Offer(name="a", price=2.00, goodput=0.90).effective_price, 1e-3, source
        ),
        Row(
            "$2.35 at a goodput of 0.97", 2.423, Offer(name="b", price=2.35, goodput=0.97).effective_price, 1e-3, source
        ),
        Row("incident: direct compute ($)", 3970.56, five["direct compute"], 1e-3, source),
        Row("incident: rollback ($)", 1203.2, five["rollback"], 1e-3, source),
        Row("incident: labour ($)", 1680, five["labour"], 1e-3, source),
    ]


SECTIONS: dict[str, Callable[[], list[Row]]] = {
    "Compounding": compounding,
    "Checkpoint intervals": intervals,
    "Productive share": closed_form,
    "How far runs scale": scaling,
    "Observed rates": observed,
    "Spares": spares,
    "Copies in memory": memory_copies,
    "Money": money,
}


def every_row() -> list[Row]:
    return [row for section in SECTIONS.values() for row in section()]


def main() -> int:
    from agreement_page import page  # beside this file

    text, out = page(SECTIONS)
    if "--check" not in sys.argv:
        PAGE.write_text(text)
        rows = text.count("| yes |") + text.count("| **NO** |")
        print(f"{PAGE.name} written: {rows} rows, {out} out of tolerance")
    return 1 if out else 0


if __name__ == "__main__":
    raise SystemExit(main())
