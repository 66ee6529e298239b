"""Plants drawn wide: the same seed gives the same plant; the family kept out of tuning has laws of its own."""

import numpy as np
import pytest

from holdfast.lab.drills.wide import fifth, fourth, sixth, unseen
from holdfast.lab.drills.wide.laws import FAMILIES
from holdfast.lab.drills.wide.play import stage, tasks

TIMES = np.arange(0.0, 3600.0, 10.0)


@pytest.mark.parametrize("family", ["third", "fifth", "sixth", "unseen"])
def test_a_seed_is_a_plant(family: str) -> None:
    one, other = (stage((7, "calm.quiet", family))[0] for _ in range(2))
    assert one.tables.keys() == other.tables.keys()
    assert all(
        np.array_equal(one.tables[name].values, other.tables[name].values, equal_nan=True) for name in one.tables
    )


def test_half_of_the_draws_are_faults_and_the_kept_family_has_more_situations() -> None:
    kinds = {family: {kind for _, kind, _ in tasks(400, 1, family)} for family in FAMILIES}
    assert kinds["unseen"] > kinds["sixth"] > kinds["fifth"] > kinds["fourth"] == kinds["tuned"]
    assert {"calm.backup", "planned.switch", "unknown.wears_out"} <= kinds["fifth"] - kinds["tuned"]
    assert {"calm.readers", "planned.hall", "unknown.cron"} <= kinds["sixth"] - kinds["fifth"]
    assert {"fabric.routing", "calm.spike", "unknown.stairs"} <= kinds["unseen"] - kinds["sixth"]
    faults = [kind for _, kind, _ in tasks(400, 1, "unseen") if not kind.startswith(("calm.", "planned.", "unknown."))]
    assert len(faults) == 200


def test_a_poller_misses_whole_rounds_and_a_meter_of_changes_reports_every_fourth_time() -> None:
    seed = next(one for one in range(1, 99) if fifth.ranges(one).rounds > 0.03 and fifth.ranges(one).missed < 0.02)
    values = np.full((50, 360), 20.0)
    rounds = fifth.due("rounds", values, 3, seed, np.random.default_rng(1))
    asked = rounds[:, ::3].mean(axis=0)
    assert not rounds[:, 1::3].any() and (asked == 0).any() and np.median(asked) > 0.9
    changes = fifth.due("changes", values, 3, seed, np.random.default_rng(1)).mean()
    assert changes == pytest.approx(1 / (3 * fifth.HEARTBEATS), rel=0.1)


@pytest.mark.parametrize("laws", [fourth, fifth, sixth, unseen])
def test_a_fault_that_returns_is_there_for_a_part_of_the_time(laws: object) -> None:
    there = laws.returns(TIMES, 5)  # type: ignore[attr-defined]
    assert set(np.unique(there)) == {0.0, 1.0} and 0.15 < there.mean() < 0.6
    assert there[0] == 1.0


def test_a_repaired_fault_has_an_end_and_no_effect_after_it() -> None:
    for seed in range(1, 60):
        panel, _, situation = stage((seed, "power.cap", "unseen"))
        end = situation.truths[0].end
        if end < 3300:
            limits = panel.tables["gpu_power_limit_watts"].values
            assert np.nanmax(limits[:, -1]) == np.nanmin(limits[:, -1])
            return
    raise AssertionError("no fault of the family is repaired")
