"""One look at a twin: a fault turns its checks at once or says what it needs, and what is not judged is reported."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.cli.app import run
from holdfast.lab import twin
from holdfast.model import subject
from holdfast.model.health import Health
from holdfast.node.agent.assemble import load_settings
from holdfast.node.agent.node import Node
from holdfast.node.agent.once import check_node

pytestmark = pytest.mark.slow

HANGS = {"driver_hang", "slow_driver"}
BAD = (Health.FAIL, Health.DEGRADED)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[twin.TwinNode]:
    yield twin.make_node(tmp_path_factory.mktemp("twin") / "n01")


def look(home: twin.TwinNode, stage: str = "passive") -> Node:
    return check_node(load_settings(str(home.directory / "holdfast.toml")), stage=stage)


@pytest.mark.parametrize("name", [name for name in twin.all_faults("nvidia") if name not in HANGS])
def test_a_fault_that_needs_nothing_shows_in_one_look_and_the_others_say_what_they_need(
    home: twin.TwinNode, name: str
) -> None:
    fault = twin.all_faults("nvidia")[name]
    twin.inject(home, name, pause=lambda seconds: None)
    seen = look(home).verdicts
    twin.clear(home, name)
    turned = {check for check, verdict in seen.items() if verdict.health in BAD}
    assert turned == (set() if fault.needs else set(fault.expects)), fault.needs


JUDGED_BY_GROWTH = {"fabric.errors", "nvlink.errors", "pcie.aer", "pcie.replay", "gpu.throttle"}


def test_checks_that_judge_growth_pass_one_look_with_the_word_that_they_did_not_judge(home: twin.TwinNode) -> None:
    verdicts = look(home).verdicts
    for name in JUDGED_BY_GROWTH:
        assert verdicts[name].health is Health.PASS
        assert "one reading: rates are not judged" in verdicts[name].evidence
        assert {row.reason for row in verdicts[name].rows} == {"one reading: rates are not judged"}
    assert any("one reading" in message for message in verdicts["fabric.port_down"].evidence)
    assert any("one reading" in message for message in verdicts["host.processes"].evidence)


def test_a_missing_port_shows_in_one_look_when_a_manifest_lists_it(tmp_path: Path) -> None:
    made = twin.make_node(tmp_path / "n01")
    config, manifest = made.directory / "holdfast.toml", made.directory / "manifest.toml"
    assert run(["node", "learn", "--config", str(config), "--out", str(manifest)]) == 0
    config.write_text(config.read_text().replace("[agent]\n", f'[agent]\nmanifest = "{manifest}"\n'))
    twin.inject(made, "port_missing")
    seen = look(made, "bootstrap").verdicts
    assert (seen["fabric.ports"].health, seen["node.inventory"].health) == (Health.FAIL, Health.FAIL)


def test_a_fatal_error_and_a_lost_link_that_only_the_kernel_reports_show_in_one_look(tmp_path: Path) -> None:
    made = twin.make_node(tmp_path / "n01")
    function = made.gpu_functions()[0]
    gpu, port = str(function.address), str(function.above[-1])
    made.say(
        [
            f"pcieport {port}: AER: Uncorrected (Fatal) error received: {gpu}",
            f"nvidia {gpu}: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer, (Receiver ID)",
            f"nvidia {gpu}:   device [10de:2330] error status/mask=00040000/00000000",
            f"pcieport {port}: pciehp: Slot(5): Link Down",
        ],
        time.time(),
    )
    seen = look(made).verdicts
    failed = {row.subject: row.health for row in seen["pcie.aer"].rows if row.health in BAD}
    assert failed == {subject.pci(made.name, gpu): Health.FAIL}
    assert {row.subject for row in seen["pcie.link"].rows if row.health in BAD} == {subject.pci(made.name, port)}
