"""The coarse model compared with the closed form: `holdfast simulate --aggregated`."""

from typing import Any

from holdfast.config.extra import needs_extra
from holdfast.economics.costs.checkpointing import expected_ledger
from holdfast.economics.costs.feasible import BadNumber, NoProgress
from holdfast.economics.planning.formatting import percent, time
from holdfast.economics.simulation.aggregated import Coarse, coarsen, replicas
from holdfast.economics.simulation.estimate import estimate
from holdfast.economics.studies.results import between, number, share
from holdfast.economics.studies.tasks import Setting

MODEL = "aggregated: one job with one constant rate; no nodes, spares, repairs or lifecycle"


def document(setting: Setting, how_many: int, seed: int) -> dict[str, Any]:
    with needs_extra("plan"):
        from numpy.random import default_rng
    scenario = setting.parsed().scenario
    coarse = coarsen(scenario)
    outcomes = replicas(coarse, how_many, default_rng(seed))
    ettr = estimate([ledger.share("productive") for ledger, _ in outcomes], least=0.0, most=1.0)
    times = estimate([float(failures) for _, failures in outcomes], least=0.0)
    return {
        "simulation": scenario.title,
        "headline": f"{scenario.title}: {percent(ettr.mean)} of the job's time is productive{between(ettr, share)},"
        f" with {number(times.mean)} interruptions{between(times, number)}, one every {time(coarse.between)}.",
        "model": MODEL,
        "left_out": list(coarse.left_out),
        "replicas": how_many,
        "ettr": ettr.document(),
        "interruptions": times.document(),
        "ledger": {
            part: estimate([ledger.share(part) for ledger, _ in outcomes], least=0.0, most=1.0).document()
            for part in outcomes[0][0].parts()
        },
        "closed_form_ettr": _closed_form(coarse),
        "assumptions": list(scenario.assumptions),
    }


def _closed_form(coarse: Coarse) -> float | None:
    """The result of the closed form; None if it gives no progress."""
    stages, saved = coarse.job.restart, coarse.job.checkpoints
    restart = sum(one.mean for one in (stages.detect, stages.diagnose, stages.reschedule, stages.load, stages.warm_up))
    try:
        return expected_ledger(saved.interval, saved.write, coarse.between, restart).share("productive")
    except (NoProgress, BadNumber):
        return None
