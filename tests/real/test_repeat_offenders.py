"""On Titan's real lifetimes the score beats chance and the simple count on cabinets it was not tuned on."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))

import repeat_offenders
import titan

from holdfast.fleet.decisions.repeat_offenders import Weights

from . import captures

pytestmark = [
    pytest.mark.slow,
    captures.needs(titan.DATA),
]
CUTS = ("2016-07-01", "2018-01-01")


@pytest.mark.parametrize("unit", ["gpu", "node"])
def test_the_score_beats_chance_and_the_count_on_held_out_cabinets(unit: str) -> None:
    of = repeat_offenders.trial(unit, CUTS)
    assert not {case.cabinet for case in of.tuning} & {case.cabinet for case in of.held_out}
    product = repeat_offenders.judged(of.held_out, repeat_offenders.of_product(of.pasts, Weights()), draws=20)
    count = repeat_offenders.judged(of.held_out, repeat_offenders.most_failures, draws=20)
    base = sum(case.failed for case in of.held_out) / len(of.held_out)
    assert product["auc"][1] > 0.6 > count["auc"][2]
    assert product["precision_at_5%"][1] > base
    assert product["lift_at_5%"] > count["lift_at_5%"]


def test_nothing_of_the_future_is_seen() -> None:
    gpus, faults = titan.load()
    cut = repeat_offenders.midnight("2017-01-01")
    found, past = repeat_offenders.look("node", gpus, faults, cut)
    truncated, past_only = repeat_offenders.look("node", gpus, [fault for fault in faults if fault.at < cut], cut)
    assert [(case.own, case.groups) for case in found] == [(case.own, case.groups) for case in truncated]
    assert past.offences == past_only.offences
