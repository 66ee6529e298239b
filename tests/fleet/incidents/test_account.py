"""Findings into incidents: where ranks run, what the fleet adds to a topology, what a bill says, who is told."""

from dataclasses import replace

import numpy as np
import pytest

from holdfast.economics.costs.finding import Prices, bill
from holdfast.fleet.incidents.account import _moved, account, continued
from holdfast.fleet.incidents.business_context import parse
from holdfast.fleet.incidents.ranks import SeamRanks
from holdfast.fleet.incidents.topology import with_the_fleet
from holdfast.fleet.notifications.alertmanager import AlertHook, Alerts, AlertSettings, message
from holdfast.model.account import Account, Bill, Loss
from holdfast.model.finding import Finding, Rival, Symptom
from holdfast.model.incident import Incident
from holdfast.model.job import Job, JobState
from holdfast.model.panel import Panel, table
from holdfast.model.topology import Edge, Topology
from holdfast.model.wire.progress import RankWindow

TIMES = np.arange(0, 3600, 10.0)
TOPOLOGY = Topology(
    (Edge("cools", "cdu/c2", "node/n1"), Edge("runs_on", "node/n1", "job/llama")), {"cdu": "facilities"}
)
FINDING = Finding(
    cause="cdu/c2",
    kind="cooling.flow_low",
    confidence=0.9,
    since=1800.0,
    path=("cdu/c2 > node/n1 > job/llama",),
    symptoms=(
        Symptom("cdu/c2", "cdu_flow_litres_per_minute", 1800.0, 480.0, 200.0),
        Symptom("job/llama", "job_step_seconds", 2000.0, 2.0, 2.5),
    ),
    rivals=(Rival("rack/r1", "cooling.rack_blocked", "its neighbours are hot too"),),
)
BUSINESS_CONTEXT = parse(
    '[prices]\ngpu_hour = 2.0\n[on_call]\nfacilities = "Dana"\n[[job]]\nname = "llama"\ngpus = 100\n', "p"
)


def _panel(step: float = 2.5) -> Panel:
    steps = np.where(TIMES < 1800, 2.0, step)
    return Panel(
        TIMES, {"job_step_seconds": table({"job/llama": steps}), "cdu_flow_litres_per_minute": table({"cdu/c2": steps})}
    )


def test_an_account_is_priced_by_what_is_measured() -> None:
    result = account(FINDING, _panel(), TOPOLOGY, BUSINESS_CONTEXT)
    assert result.bill.gpu_hours_per_hour == pytest.approx(20), "2.0 s became 2.5 s: a fifth of 100 GPUs"
    assert result.bill.gpu_hours == pytest.approx(20 * result.lasted_seconds / 3600, rel=0.02)
    assert "job llama is losing the work of 20 GPUs (40.00 USD/h compute)" in result.sentence
    assert result.on_call == {"facilities": "Dana"} and result.rivals[0].cause == "rack/r1"
    assert [moment.domain for moment in result.timeline] == ["cooling", "runtime"]
    assert any(chart.subject == "cdu/c2" for chart in result.charts)


def test_a_symptom_counts_by_how_far_it_moved_from_where_it_was() -> None:
    small, large = Symptom("a", "x", 0.0, 1.0, 2.0), Symptom("a", "x", 0.0, 1000.0, 1100.0)
    assert (_moved(small), _moved(large)) == (1.0, pytest.approx(0.1))
    assert _moved(Symptom("a", "x", 0.0, 0.0, 3.0)) == 3.0, "from nothing: as far as it is now"


def test_an_account_names_a_bounded_number_of_victims(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.fleet.incidents.account.MOST_VICTIMS", 3)
    hot = tuple(Symptom(f"node/n{number}", "gpu_temperature_celsius", 1900.0, 60.0, 90.0) for number in range(5))
    result = account(replace(FINDING, symptoms=hot), _panel(), TOPOLOGY, BUSINESS_CONTEXT)
    assert result.victims == ("node/n0", "node/n1", "node/n2")


def test_what_is_not_measured_any_more_stays_counted() -> None:
    before = account(FINDING, _panel(), TOPOLOGY, BUSINESS_CONTEXT)
    silent = Panel(TIMES, {"cdu_flow_litres_per_minute": table({"cdu/c2": np.full(len(TIMES), 200.0)})})
    result = account(FINDING, silent, TOPOLOGY, BUSINESS_CONTEXT, before)
    assert result.bill.gpu_hours_per_hour == pytest.approx(20)


def test_a_loss_that_no_one_measures_is_reported_and_not_guessed() -> None:
    silent = Panel(TIMES, {"cdu_flow_litres_per_minute": table({"cdu/c2": np.full(len(TIMES), 200.0)})})
    result = account(FINDING, silent, TOPOLOGY, BUSINESS_CONTEXT)
    assert result.bill.gpu_hours_per_hour == 0 and "whose loss is not measured" in result.sentence
    assert any("its slowdown is not measured" in one for one in result.bill.unpriced)


def test_five_layers_and_no_dollar_twice() -> None:
    loss = Loss(subject="job/a", gpus=100, share_so_far=0.2, share_now=0.4, day_value=24_000, float_days=0.0)
    result = bill([loss], Prices(gpu_hour=2.0, people=2, people_hours=3, wage=100), hours=2.0, horizon_hours=10.0)
    layers = {layer.name: layer for layer in result.layers}
    assert layers["direct compute"].so_far == pytest.approx(100 * 2.0 * 0.2 * 2)
    assert layers["direct compute"].if_it_goes_on == pytest.approx(100 * 2.0 * (0.2 * 2 + 0.4 * 10))
    assert layers["labour"].so_far == 400 and layers["labour"].if_it_goes_on == 600
    assert layers["schedule slip"].so_far == pytest.approx(24_000 * 0.4 / 24)
    assert layers["rollback"].so_far == 0 and layers["reserved capacity"].so_far == 0
    assert result.total_so_far == pytest.approx(80 + 400 + 400)


def test_the_slip_without_a_value_is_no_number() -> None:
    result = bill([Loss(subject="job/a", gpus=8, share_so_far=0.5, share_now=0.5)], Prices(), hours=1.0)
    assert result.layers[-1].so_far is None and result.finish_shift_hours == 0.5
    assert bill([], Prices(), hours=1.0).total_so_far == 2 * 1 * 140, "nobody slowed: labour alone"


def test_the_fleet_adds_places_jobs_and_ranks() -> None:
    ranks = SeamRanks()
    window = RankWindow(
        job="llama", owner="uid-1", rank=3, world=8, session="s", began=0, at=5, steps=4, seconds=8.0, gpu=1,
        split=True, own_seconds=1.5, wait_seconds=1.0,
    )  # fmt: skip
    result = {(about, name): value for about, name, value in ranks.ingest("n2", [window])}
    assert result["job/llama", "job_step_seconds"] == 2.0
    assert result["job/llama/rank/3", "rank_compute_seconds"] == 1.5
    job = Job(id="77", source="slurm", nodes=("n1",), state=JobState.RUNNING)
    made = with_the_fleet(TOPOLOGY, {"n1": {"cdu": "c9"}, "n2": {"rack": "r1", "leaf": "l1"}}, [job], ranks.edges())
    assert Edge("cools", "cdu/c9", "node/n1") not in made.edges, "the file's word is the better one"
    for edge in (
        Edge("cools", "rack/r1", "node/n2"),
        Edge("connects", "switch/l1", "node/n2"),
        Edge("runs_on", "node/n1", "job/77"),
        Edge("runs_on", "node/n2/gpu/1", "job/llama/rank/3"),
        Edge("runs_on", "node/n2", "job/llama"),
    ):
        assert edge in made.edges, edge


def _incident(kind: str = "cooling.flow_low", rate: float = 0.0) -> Incident:
    cost = Bill(gpu_hours_per_hour=rate)
    result = Account(kind=kind, confidence=0.9, since=0, lasted_seconds=60, bill=cost, runbook=kind)
    return Incident(id="cdu/c2@1", opened=1.0, subject="cdu/c2", cause=kind, account=result)


def test_alerts_are_one_per_root_and_rise_once() -> None:
    hook = AlertHook(url="http://hook/x")
    alerts = Alerts(AlertSettings(alertmanagers=("http://am:9093",), webhook=(hook,)))
    for rate in (0.0, 0.0, 5.0, 5.0, 0.0):
        alerts.stand([_incident(rate=rate)])
    alerts.stand([])
    hooks = [one.body for one in alerts._posts if one.hook.url == "http://hook/x"]
    result = [b'"happened": "opened"' in one or b'"happened": "changed"' in one for one in hooks]
    assert len(hooks) == 3 and result == [True, True, False], "opened, rose, closed"
    manager = [one for one in alerts._posts if "am:9093" in one.hook.url]
    assert b'"severity": "critical"' in manager[-1].body


def test_a_message_names_the_runbook() -> None:
    assert message("opened", _incident(), "https://wiki/rb/")["runbook"] == "https://wiki/rb/cooling.flow_low.md"


@pytest.mark.parametrize("url", ["ftp://x", "http://user:pw@x", "am:9093"])
def test_a_wrong_address_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match=r"alerts\.alertmanagers"):
        AlertSettings(alertmanagers=(url,))


@pytest.mark.parametrize(("lasted", "goes_on"), [(10.0, 100.0), (500.0, 500.0)])
def test_an_incident_that_was_not_found_again_goes_on_and_never_gets_shorter(lasted: float, goes_on: float) -> None:
    before = replace(account(FINDING, _panel(), TOPOLOGY, BUSINESS_CONTEXT), since=1800.0, lasted_seconds=lasted)
    after = continued(before, 1900.0, BUSINESS_CONTEXT)
    assert after.lasted_seconds == goes_on
    assert after.bill == bill(before.losses, BUSINESS_CONTEXT.prices, goes_on / 3600, BUSINESS_CONTEXT.horizon_hours)
