"""The same comparison on a Ray cluster of two nodes: where replicas run changes no figure."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.cli.app import run

pytestmark = pytest.mark.slow
SCENARIO = """
title = "small"
[cluster]
nodes = 20
days = 5
[policy]
breaker_share = 1.0
service_degraded = "DEGRADED"
[[job]]
name = "one"
nodes = 16
[[hazard]]
name = "throttling"
effect = "slowdown"
rate = 2.0
noticed = "10m"
"""


@pytest.fixture
def two_nodes() -> Iterator[int]:
    ray = pytest.importorskip("ray", reason="Ray is not installed: pip install '.[sweep]' in a clone")
    from ray.cluster_utils import Cluster

    try:
        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    except Exception as error:  # noqa: BLE001  Ray raises nothing narrower, and waits 30 s at most for itself
        pytest.skip(f"Ray itself did not start on this machine: {error}")
    try:
        cluster.add_node(num_cpus=1)
        ray.init(address=cluster.address, log_to_driver=False)
        yield sum(node["Alive"] for node in ray.nodes())
    finally:
        ray.shutdown()
        cluster.shutdown()


def test_two_policies_compared_on_two_nodes(two_nodes: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert two_nodes == 2
    bear, replace = tmp_path / "bear.toml", tmp_path / "replace.toml"
    bear.write_text(SCENARIO.replace("DEGRADED", "choose_last"))
    replace.write_text(SCENARIO.replace("DEGRADED", "fail").replace("small", "replaced"))
    result = []
    for where in ("ray", "processes"):
        command = ["simulate", str(bear), "--compare", str(replace), "--replicas", "6", "--on", where, "--json"]
        assert run(command) == 0
        result.append(json.loads(capsys.readouterr().out))
    assert result[0] == result[1]
    assert "more productive time: significant" in result[0]["verdict"]
