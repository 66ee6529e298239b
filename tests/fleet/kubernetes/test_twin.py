"""From the driver's library to the API server: a real agent on a twin, a real controller, a real kube-apiserver."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from holdfast.lab.twin.inject import inject
from holdfast.lab.twin.node import make_node

from ..controller.running import Controller, running, until  # noqa: TID252  tests are no package to name
from .conftest import Cluster

pytestmark = pytest.mark.slow
HOLDFAST = Path(sys.executable).with_name("holdfast")
NOT_ON_A_TWIN = ("dcgm.diag", "node.inventory", "node.topology")  # no DCGM, and no manifest was learnt
# What reboots the twin mends it: a GPU that left the bus cannot be reset.
CONFIG = """\
demo = true
observe_seconds = 1
[kubernetes]
kubeconfig = "{kubeconfig}"
[actions]
reboot = "command"
[command.commands]
reboot = ["{holdfast}", "twin", "inject", "{home}", "gpu_off_bus", "--gpu", "3", "--clear"]
"""


@contextmanager
def agent_on_twin(home: Path, node: str, controller: Controller) -> Iterator[None]:
    token = home / "join.token"
    token.write_text(controller.token())
    with (home / "holdfast.toml").open("a") as config:
        config.write(f'\n[controller]\nurl = "{controller.url}"\njoin_token_file = "{token}"\n')
        config.write("".join(f'[checks."{check}"]\nenabled = false\n' for check in NOT_ON_A_TWIN))
    with (home / "agent.log").open("w") as log:
        command = [HOLDFAST, "agent", "--config", str(home / "holdfast.toml")]
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        yield
    finally:
        process.terminate()
        process.wait(20)


def test_a_broken_twin_is_cordoned_emptied_reset_tested_and_opened(cluster: Cluster, node: str, tmp_path: Path) -> None:
    home = tmp_path / "twin"
    make_node(home, name=node)
    more = CONFIG.format(kubeconfig=cluster.kubeconfig("controller"), holdfast=HOLDFAST, home=home)
    policy = "dry_run = false\ndrain = 'evict'\nbreaker_share = 1.0\n"
    with (
        running(tmp_path / "controller", more=more, policy=policy) as controller,
        agent_on_twin(home, node, controller),
    ):
        until(lambda: "holdfast/untested:NoSchedule" in cluster.taints(node), "tainted until tested")
        until(lambda: cluster.taints(node) == set(), "opened by its own agent's suite")
        cluster.add_pod("on-twin", node, gpus=4)
        controller.reaches(node, "allocated")
        inject(home, "gpu_off_bus", gpu=3)
        until(lambda: cluster.cordoned(node), "cordoned")
        until(lambda: cluster.condition(node)["status"] == "False", "said to be out of service")
        until(lambda: cluster.pods(node) == set(), "evicted")
        until(lambda: not cluster.cordoned(node), "reset, tested and uncordoned")
        until(lambda: cluster.taints(node) == set(), "open")
        until(lambda: cluster.condition(node)["status"] == "True", "said to be healthy")
    causes = {one["message"].partition(":")[0] for one in cluster.events(node) if one["type"] == "Warning"}
    assert causes & {"gpu.lost", "gpu.xid"}
