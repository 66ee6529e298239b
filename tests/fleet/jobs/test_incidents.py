"""A slow job and an open incident tell one story; what no incident explains is compared by its clocks."""

from holdfast.fleet.jobs.hardware import slow_clock
from holdfast.fleet.jobs.incidents import _of_slow, explaining, with_incidents
from holdfast.fleet.jobs.views import SlowView, TrainingView
from holdfast.model.account import Account, Loss
from holdfast.model.health import Health
from holdfast.model.incident import Incident

from .test_service import Site, site

__all__ = ["site"]
SLOW = 12


def account(*losses: Loss, victims: tuple[str, ...] = ()) -> Account:
    return Account(kind="gpu.slow", confidence=0.9, since=0.0, lasted_seconds=60.0, losses=losses, victims=victims)


def incident(subject: str, *nodes: str, found: bool = True) -> Incident:
    result = account() if found else None
    return Incident(id=f"{subject}@1", opened=1.0, subject=subject, evidence=nodes, account=result)


def test_an_incident_on_a_gpu_explains_that_gpu_alone():
    reached = explaining([incident("node/n1/gpu/4", "n1", "n2")])
    assert reached("n1", 4) == "node/n1/gpu/4"
    assert (reached("n1", 5), reached("n2", 4), reached("n10", 4)) == ("", "", "")


def test_one_on_what_nodes_share_explains_its_nodes_and_a_pool_without_room_none():
    reached = explaining([incident("pool/main", "n1", found=False), incident("cdu/c2", "n1")])
    assert (reached("n1", 0), reached("n2", 0)) == ("cdu/c2", "")


def test_a_slow_gpu_is_explained_by_its_incident_as_a_rank_is():
    reached = explaining([incident("node/n1/gpu/4", "n1")])
    known = {"check": "job.slow", "ratio": 0.2, "since": None, "reason": "slow"}
    slow = [SlowView(subject=f"node/n1/{part}", **known) for part in ("gpu/4", "gpu/5", "gpu/x", "nic/4")]
    assert [_of_slow(one, {}, reached) for one in slow] == ["node/n1/gpu/4", "", "", ""]
    rank = SlowView(subject="job/llama/rank/3", **known)
    assert _of_slow(rank, {"job/llama/rank/3": ("n1", 4)}, reached) == "node/n1/gpu/4"


def test_a_node_that_could_not_be_drained_explains_no_slow_rank():
    assert explaining([incident("node/n1/scheduler", found=False)])("n1", 0) == ""


def test_a_slow_rank_under_an_open_incident_is_not_to_be_evicted(site: Site):
    site.run(12)
    site.run(12, slow=SLOW, ratio=0.2)
    assert "evicting it" in site.show().reason and site.show().incident == ""
    site.fleet.incidents.found("node/n1/gpu/4", account(), "its clock is low", site.now, ())
    site.run(2, slow=SLOW, ratio=0.2)
    shown = site.show()
    assert "rank 12 = node n1 GPU 4, explained by the incident on node/n1/gpu/4" in shown.reason
    assert "evicting" not in shown.reason and shown.incident == "node/n1/gpu/4"
    assert [one.incident for one in shown.slow] == ["node/n1/gpu/4"]
    [listed] = site.book.list(site.transaction(), ()).jobs
    assert (listed.reason, listed.incident) == (shown.reason, shown.incident)
    site.fleet.incidents.over("node/n1/gpu/4", site.now, "the finding is gone")
    site.run(2, slow=SLOW, ratio=0.2)
    assert "evicting it" in site.show().reason and site.show().incident == ""


def test_a_job_that_an_incident_names_among_its_losses_says_so(site: Site):
    site.run(12)
    loss = Loss(subject="job/llama", gpus=32.0, share_so_far=0.1, share_now=0.2)
    site.fleet.incidents.found("storage/s1", account(loss), "storage is slow", site.now, ())
    assert site.show().incident == ""  # it is not slow
    site.run(12, seconds=15.0, data_seconds=40.0)
    assert site.show().reason.endswith("; the incident on storage/s1 slows it")


def test_a_clock_below_its_peers_is_reported():
    clock = "gpu_clock_sm_hertz"
    digests = {node: {(gpu, clock): 1.755e9 for gpu in range(8)} for node in ("n1", "n2")}
    assert slow_clock("n1", 0, digests) == ""
    digests["n1"][0, clock] = 1.246e9
    assert slow_clock("n1", 0, digests) == "its clock is 1.246 GHz and that of its peers 1.755 GHz"
    assert slow_clock("n1", None, digests) == "" and slow_clock("n9", 0, digests) == ""


def view(**more):
    known = dict.fromkeys(TrainingView.__dataclass_fields__, 0)
    known |= {"job": "llama", "health": Health.DEGRADED, "reason": "slow", "nodes": ("n1", "n2"), "incident": ""}
    return TrainingView(**{**known, **more})


def hurting(subject, *losses, nodes=(), opened=1.0):
    return Incident(id=subject, opened=opened, subject=subject, evidence=nodes, account=account(*losses))


LLAMA = Loss(subject="job/llama", gpus=8.0, share_so_far=0.1, share_now=0.2)


def test_a_node_is_explained_by_its_own_incident_and_by_any_of_its_parts_where_the_gpu_is_not_known():
    assert explaining([incident("node/n1")])("n1", 4) == "node/n1"
    assert explaining([incident("node/n1/nic/mlx5_0")])("n1", 4) == "node/n1/nic/mlx5_0"
    assert explaining([incident("node/n1/gpu/4")])("n1", None) == "node/n1/gpu/4"
    assert explaining([incident("node/n1")])("n10", 4) == ""
    assert explaining([incident("node/n1", found=False)])("n1", 4) == ""


def test_a_job_whose_nodes_are_exactly_those_of_an_incident_is_explained_without_a_measured_loss():
    unmeasured = Loss(subject="job/llama", gpus=8.0, share_so_far=None, share_now=None)
    assert with_incidents(view(), [hurting("cdu/c2", unmeasured, nodes=("n1", "n2"))]).incident == "cdu/c2"
    assert with_incidents(view(), [hurting("cdu/c2", unmeasured, nodes=("n1",))]).incident == ""


def test_the_oldest_incident_explains():
    young, old = hurting("cdu/c2", nodes=("n1",), opened=5.0), hurting("pdu/p1", nodes=("n1",), opened=2.0)
    assert explaining([young, old])("n1", 0) == "pdu/p1"


def test_only_a_slow_job_is_explained():
    assert with_incidents(view(), [hurting("cdu/c2", LLAMA)]).incident == "cdu/c2"
    well = view(health=Health.PASS)
    assert with_incidents(well, [hurting("cdu/c2", LLAMA)]) is well
    alone = view()
    assert with_incidents(alone, []) is alone


def test_a_job_is_hurt_by_what_is_measured_or_by_what_reaches_all_its_nodes():
    unmeasured = Loss(subject="job/llama", gpus=8.0, share_so_far=None, share_now=None)
    other = Loss(subject="job/vit", gpus=8.0, share_so_far=0.1, share_now=0.2)
    assert with_incidents(view(), [hurting("cdu/c2", unmeasured)]).incident == ""
    assert with_incidents(view(), [hurting("cdu/c2", unmeasured, nodes=("n1",))]).incident == ""
    assert with_incidents(view(), [hurting("cdu/c2", unmeasured, nodes=("n1", "n2", "n3"))]).incident == "cdu/c2"
    assert with_incidents(view(), [hurting("cdu/c2", other, nodes=("n1", "n2"))]).incident == ""
    assert with_incidents(view(), [incident("leaf/l1", "n1", "n2", found=False)]).incident == ""


def test_what_the_reason_names_already_is_not_reported_twice():
    named = view(reason="slow; explained by the incident on cdu/c2")
    result = with_incidents(named, [hurting("pdu/p1", LLAMA), hurting("cdu/c2", opened=3.0)])
    assert (result.incident, result.reason) == ("cdu/c2", named.reason)
    fresh = with_incidents(view(), [hurting("cdu/c2", LLAMA)])
    assert fresh.reason == "slow; the incident on cdu/c2 slows it"
