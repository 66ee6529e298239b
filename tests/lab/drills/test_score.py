"""Scoring: what is right, what is made up, and how late."""

from holdfast.lab.drills.confusion import matrix, upper_bound, wilson
from holdfast.lab.drills.score import ScoredMoment, Truth, first_seen, score, verdict
from holdfast.model.finding import Finding, Rival

PUMP = Truth(cause="cdu/c1", kind="cooling.flow_low", start=100.0, visible=160.0)


def found(cause: str, kind: str, confidence: float = 0.9, rivals: tuple[Rival, ...] = ()) -> Finding:
    return Finding(cause=cause, kind=kind, confidence=confidence, since=0.0, rivals=rivals)


def test_the_right_cause_first_is_right_and_timed_from_when_it_could_be_seen() -> None:
    judged = [ScoredMoment(120.0, ()), ScoredMoment(240.0, (found("cdu/c1", "cooling.flow_low"),))]
    scored = score([PUMP], judged)
    assert scored.top1
    assert scored.top3
    assert scored.detect_seconds == 80.0
    assert scored.false_findings == 0


def test_the_right_place_with_the_wrong_kind_is_made_up() -> None:
    scored = score([PUMP], [ScoredMoment(240.0, (found("cdu/c1", "cooling.supply_warm"),))])
    assert not scored.top1
    assert scored.detect_seconds is None
    assert scored.false_findings == 1


def test_a_cause_behind_a_wrong_one_is_among_the_first_three() -> None:
    judged = [ScoredMoment(240.0, (found("node/n1", "cooling.fan", 0.8), found("cdu/c1", "cooling.flow_low", 0.5)))]
    scored = score([PUMP], judged)
    assert (scored.top1, scored.top3, scored.false_findings) == (False, True, 1)


def test_a_rival_that_lost_counts_among_the_first_three() -> None:
    rivals = (Rival("cdu/c1", "cooling.flow_low", "explains less"),)
    scored = score([PUMP], [ScoredMoment(240.0, (found("rack/r1", "cooling.rack_blocked", rivals=rivals),))])
    assert (scored.top1, scored.top3) == (False, True)


def test_two_roots_are_both_asked_for() -> None:
    link = Truth(cause="link/a-b", kind="fabric.uplink", start=100.0, visible=100.0)
    both = (found("link/a-b", "fabric.uplink", 0.9), found("cdu/c1", "cooling.flow_low", 0.6))
    assert score([PUMP, link], [ScoredMoment(240.0, both)]).top1
    assert not score([PUMP, link], [ScoredMoment(240.0, both[:1])]).top1


def test_what_is_reported_after_the_end_does_not_count_for_the_rank() -> None:
    over = Truth(cause="cdu/c1", kind="cooling.flow_low", start=100.0, end=200.0, visible=100.0)
    assert not score(
        [over], [ScoredMoment(180.0, ()), ScoredMoment(240.0, (found("cdu/c1", "cooling.flow_low"),))]
    ).top1


def test_nothing_wrong_and_nothing_found_is_right() -> None:
    assert score([], [ScoredMoment(60.0, ()), ScoredMoment(120.0, ())]).top1
    noisy = score([], [ScoredMoment(60.0, (found("node/n1", "gpu.slow"),)), ScoredMoment(120.0, ())])
    assert not noisy.top1
    assert noisy.false_findings == 1


def test_what_a_truth_accepts_is_neither_right_nor_made_up() -> None:
    kept = Truth(cause="node/n1", kind="schedule.degraded_kept", start=0.0, visible=300.0,
                 accepts=(("node/n1/gpu/0", "gpu.slow"),))  # fmt: skip
    judged = [
        ScoredMoment(60.0, (found("node/n1/gpu/0", "gpu.slow"),)),
        ScoredMoment(360.0, (found("node/n1", kept.kind),)),
    ]
    scored = score([kept], judged)
    assert (scored.top1, scored.false_findings, scored.detect_seconds) == (True, 0, 60.0)


def test_before_the_alert_only_if_found_before_it() -> None:
    judged = [ScoredMoment(240.0, (found("cdu/c1", "cooling.flow_low"),))]
    assert score([PUMP], judged, first_alert=300.0).before_alert
    assert not score([PUMP], judged, first_alert=200.0).before_alert
    assert score([PUMP], [ScoredMoment(240.0, ())], first_alert=300.0).before_alert is None


def test_each_finding_is_listed_once_with_its_first_time_and_last_words() -> None:
    judged = [ScoredMoment(60.0, (found("a/1", "k", 0.4),)), ScoredMoment(120.0, (found("a/1", "k", 0.8),))]
    ((at, finding),) = first_seen(judged).values()
    assert (at, finding.confidence) == (60.0, 0.8)


def test_a_confusion_names_what_was_reported_instead() -> None:
    assert verdict(PUMP, [ScoredMoment(240.0, (found("node/n1", "cooling.fan"),))]) == ("node/n1", "cooling.fan")
    assert verdict(PUMP, [ScoredMoment(240.0, ())]) is None
    assert matrix([("a", "a"), ("a", "b"), ("a", "a")]) == {"a": {"a": 2, "b": 1}}


def test_bounds_are_wilsons() -> None:
    low, high = wilson(95, 100)
    assert (round(low, 4), round(high, 4)) == (0.8882, 0.9785)
    assert wilson(0, 0) == (0.0, 1.0)
    assert 0.04 < upper_bound(0, 50) < 0.06
