from holdfast.model.finding import Finding, Rival, Symptom


def test_victims_are_all_that_suffer_but_the_cause() -> None:
    own = Symptom("cdu/c1", "cdu_flow_litres_per_minute", 1.0, 200.0, 100.0)
    hot = Symptom("node/n1/gpu/0", "gpu_temperature_celsius", 2.0, 60.0, 80.0)
    finding = Finding(
        cause="cdu/c1", kind="cooling.flow_low", confidence=0.9, since=1.0, symptoms=(own, hot),
        rivals=(Rival("rack/r1", "cooling.rack_blocked", "it follows from cdu/c1"),),
    )  # fmt: skip
    assert finding.victims == {"node/n1/gpu/0", "node/n1"}
    result = finding.as_json()
    assert result["rivals"] == [{"cause": "rack/r1", "kind": "cooling.rack_blocked", "why": "it follows from cdu/c1"}]
    assert result["symptoms"][1]["subject"] == "node/n1/gpu/0"
    assert "60 -> 80" in hot.says()


def test_what_is_not_a_number_is_null_in_json() -> None:
    silent = Symptom("cdu/c1", "cdu_supply_celsius", 1.0, float("nan"), float("nan"))
    finding = Finding(cause="cdu/c1", kind="sensor.lost", confidence=0.9, since=1.0, symptoms=(silent,))
    assert finding.as_json()["symptoms"][0]["before"] is None


def test_the_node_of_a_slow_gpu_is_no_victim() -> None:
    own = Symptom("node/n1/gpu/3", "gpu_clock_sm_hertz", 1.0, 2e9, 1e9)
    job = Symptom("job/a", "job_step_seconds", 2.0, 5.0, 6.0)
    finding = Finding(cause="node/n1/gpu/3", kind="gpu.slow", confidence=0.9, since=1.0, symptoms=(own, job))
    assert finding.victims == {"job/a"}
