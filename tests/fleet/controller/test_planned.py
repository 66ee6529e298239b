"""Announced work over the API of a real controller: stored, listed, withdrawn, audited; only operators announce."""

from pathlib import Path

from .running import running

WORK = {"name": "filter change", "subjects": ["cdu/c2"], "start": 4e9, "end": 4e9 + 3600, "what": "cooling"}


def test_work_is_announced_listed_and_withdrawn(tmp_path: Path) -> None:
    (tmp_path / "topology.toml").write_text('[[edge]]\nkind = "cools"\nfrom = "cdu/c2"\nto = "rack/r1"\n')
    more = f'[seams]\ntopology = "{tmp_path}/topology.toml"\n'
    with running(tmp_path / "controller", more=more) as controller:
        assert controller.get("/v1/planned")["planned"] == []
        assert controller.post("/v1/planned", WORK).json()["planned"] == [{**WORK, "source": "api"}]
        assert controller.get("/v1/planned")["planned"][0]["name"] == "filter change"
        assert controller.post("/v1/planned", {**WORK, "end": 1.0}).status_code == 400
        assert controller.post("/v1/planned", {**WORK, "what": "moon"}).status_code == 400
        assert controller.post("/v1/planned/filter change/withdraw", {}).json()["planned"] == []
        assert controller.post("/v1/planned/filter change/withdraw", {}).status_code == 404
        assert [one["verb"] for one in controller.audited(target="filter change")] == ["withdraw", "announce"]
        agent = controller.enrol("n1")
        assert controller.post("/v1/planned", WORK, token=agent.credential).status_code == 403


def test_a_node_that_is_out_for_announced_work_is_not_in_the_inbox(tmp_path: Path) -> None:
    (tmp_path / "topology.toml").write_text('[[edge]]\nkind = "cools"\nfrom = "cdu/c2"\nto = "rack/r1"\n')
    more = f'[seams]\ntopology = "{tmp_path}/topology.toml"\n'
    with running(tmp_path / "controller", more=more) as controller:
        work = {"name": "firmware", "subjects": ["node/n1"], "start": 1.0, "end": 4e9}
        controller.post("/v1/planned", work)
        for name in ("n1", "n2"):
            controller.enrol(name)
            controller.post(f"/v1/nodes/{name}/quarantine", {"reason": "firmware", "force": True})
            controller.reaches(name, "quarantined")
        assert [one["subject"] for one in controller.get("/v1/inbox")["items"]] == ["node/n2"]
