"""Orders: only what this node's own policy lists, each once, and an honest answer to all of them."""

import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.lab.twin.inject import inject
from holdfast.lab.twin.node import make_node
from holdfast.model.settings import ControllerSettings, SettingsError, parse
from holdfast.model.signal import Reading
from holdfast.model.wire.report import OrderOutcome
from holdfast.node.agent.assemble import load_settings, node_name
from holdfast.node.agent.once import check_node
from holdfast.node.agent.orders.gpu_reset import DriverGate, GatedSource, reset_gpu
from holdfast.node.agent.orders.gpu_situation import GpuSituation
from holdfast.node.agent.orders.handler import (
    MOST_REMEMBERED,
    REPEAT_SECONDS,
    STALE_SECONDS,
    Order,
    OrderAction,
    OrderHandler,
)
from holdfast.node.agent.orders.retest import retest
from holdfast.node.sources.host.repairs import FILE as REPAIRS

NOW = 1_800_000_000.0
RETEST = Order(id=1, verb="retest", suite="1")


class Bench:
    """Orders in, outcomes out, and how often each verb was really done."""

    def __init__(self, home: Path, obeys: tuple[str, ...] = ("retest", "reset_gpu")) -> None:
        self.now = NOW
        self.done: list[str] = []
        self.outcomes: list[OrderOutcome] = []
        actions = {
            "retest": OrderAction(perform=self._do, repeatable=True),
            "reset_gpu": OrderAction(perform=self._do, repeatable=False),
        }
        self.orders = OrderHandler(actions, obeys, home / "orders.jsonl", lambda: self.now, self.outcomes.append)

    def _do(self, order: Order, now: float) -> OrderOutcome:
        self.done.append(order.verb)
        return OrderOutcome(order=order.id, verb=order.verb, ok=True, health="pass", reason="well", began=now)

    def give(self, order: Order) -> None:
        """What both threads do, on one."""
        self.orders.take([order])
        while not self.orders._waiting.empty():
            waiting = self.orders._waiting.get()
            assert waiting is not None
            self.orders.carry_out(waiting)


def test_an_order_seen_twice_is_done_once_and_answered_with_the_first_outcome(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.give(RETEST)
    bench.give(RETEST)
    assert len(bench.outcomes) == 1, "the answer may still be on its way"
    bench.now += REPEAT_SECONDS
    bench.give(RETEST)
    assert bench.done == ["retest"]
    assert bench.outcomes[0] == bench.outcomes[1]


def test_an_order_done_by_the_agent_before_a_crash_is_not_done_again(tmp_path: Path) -> None:
    Bench(tmp_path).give(RETEST)
    with (tmp_path / "orders.jsonl").open("ab") as file:
        file.write(b'\n{"order": 9, "verb": "ret')  # torn
    after = Bench(tmp_path)
    after.give(RETEST)
    assert after.done == []
    assert [outcome.reason for outcome in after.outcomes] == ["well"]


def test_a_reset_cut_short_by_a_crash_is_reported_as_unknown_and_not_repeated(tmp_path: Path) -> None:
    (tmp_path / "orders.jsonl").write_bytes(b'\n{"begun":5}')
    bench = Bench(tmp_path)
    bench.give(Order(id=5, verb="reset_gpu"))
    assert bench.done == []
    assert not bench.outcomes[0].ok
    assert "not known" in bench.outcomes[0].reason


@pytest.mark.parametrize("verb", ["reboot", "rm -rf", ""])
def test_a_verb_no_one_knows_is_refused_with_a_reason(tmp_path: Path, verb: str) -> None:
    bench = Bench(tmp_path)
    bench.give(Order(id=2, verb=verb))
    assert not bench.outcomes[0].ok
    assert "does not know how to" in bench.outcomes[0].reason


def test_a_verb_the_local_policy_does_not_list_is_refused(tmp_path: Path) -> None:
    bench = Bench(tmp_path, obeys=("retest",))
    bench.give(Order(id=3, verb="reset_gpu"))
    assert bench.done == []
    assert bench.outcomes[0].reason == "this node's own policy does not list reset_gpu"


def test_a_command_that_breaks_down_is_an_answer_too(tmp_path: Path) -> None:
    def broken(order: Order, now: float) -> OrderOutcome:
        raise OSError("no such luck")

    outcomes: list[OrderOutcome] = []
    orders = OrderHandler(
        {"retest": OrderAction(perform=broken, repeatable=True)},
        ("retest",),
        tmp_path / "o",
        lambda: NOW,
        outcomes.append,
    )
    orders.carry_out(RETEST)
    assert not outcomes[0].ok
    assert "no such luck" in outcomes[0].reason


def test_by_default_an_agent_reports_to_no_one_and_a_reset_must_be_allowed() -> None:
    assert ControllerSettings().url == ""
    assert "reset_gpu" not in ControllerSettings().obeys


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ('[controller]\nurl = "ftp://x"', "http"),
        ('[controller]\nobeys = ["dance"]', "cannot 'dance'"),
        ('[controller]\nobeys = ["reboot"]', "reboot_command: expected an argument list"),
        ("[controller]\nplace = { rack = 1 }", "controller.place"),
        ("[controller]\nwhere = 1", "unknown key 'where'"),
    ],
)
def test_a_wrong_controller_setting_is_refused_with_its_place(text: str, word: str) -> None:
    with pytest.raises(SettingsError, match=word):
        parse(text, "holdfast.toml", {})


def test_place_and_pool_are_read() -> None:
    text = (
        '[controller]\nurl = "https://c:1"\npool = "train"\nplace = { rack = "r1", leaf = "l2" }\nobeys = ["reset_gpu"]'
    )
    found = parse(text, "holdfast.toml", {}).controller
    assert (found.pool, dict(found.place), found.obeys) == ("train", {"rack": "r1", "leaf": "l2"}, ("reset_gpu",))


@pytest.mark.slow
class TestRetest:
    """The real suite, in a process of its own, on a twin."""

    def order(self, home: Path, budget: str = "") -> OrderOutcome:
        with (home / "holdfast.toml").open("a") as file:
            file.write(f'\n[controller]\nurl = "http://127.0.0.1:1"\n{budget}\n')
        return retest(load_settings(str(home / "holdfast.toml"))).perform(RETEST, NOW)

    def test_it_says_what_holdfast_check_says(self, tmp_path: Path) -> None:
        make_node(tmp_path / "n01")
        settings = load_settings(str(tmp_path / "n01" / "holdfast.toml"))
        outcome = self.order(tmp_path / "n01")
        assert outcome.ok
        assert outcome.health == check_node(settings, "bootstrap").health.value
        assert (outcome.began, outcome.suite) == (NOW, "1")

    def test_it_names_the_suite_that_ran_not_the_one_that_was_asked_for(self, tmp_path: Path) -> None:
        make_node(tmp_path / "n01")
        file = tmp_path / "n01" / "holdfast.toml"
        file.write_text(file.read_text().replace("[agent]\n", '[agent]\nsuite = "site-7"\n'))
        assert self.order(tmp_path / "n01").suite == "site-7"

    def test_a_sick_node_fails_it_and_the_check_that_decided_is_named(self, tmp_path: Path) -> None:
        make_node(tmp_path / "n01")
        inject(tmp_path / "n01", "nvlink_lane_down", gpu=3)
        outcome = self.order(tmp_path / "n01")
        assert (outcome.ok, outcome.health, outcome.cause) == (True, "fail", "nvlink.lanes")
        assert "gpu 3" in outcome.reason

    def test_a_suite_that_hangs_is_ended_and_unknown(self, tmp_path: Path) -> None:
        make_node(tmp_path / "n01")
        inject(tmp_path / "n01", "driver_hang")
        outcome = self.order(tmp_path / "n01", "retest_budget_seconds = 0.5")
        assert (outcome.ok, outcome.health) == (False, "unknown")
        assert "0.5 s" in outcome.reason


@pytest.mark.slow
class TestReset:
    """With a command of our own in nvidia-smi's place and the twin's driver behind NVML."""

    @pytest.fixture
    def home(self, tmp_path: Path) -> Path:
        make_node(tmp_path / "n01")
        return tmp_path / "n01"

    def perform(self, home: Path, look: Callable[[], GpuSituation], gate: DriverGate | None = None) -> OrderOutcome:
        tool = home / "nvidia-smi"
        tool.write_text(f'#!/bin/sh\necho "$@" >> {home}/called\n')
        tool.chmod(tool.stat().st_mode | stat.S_IXUSR)
        settings = load_settings(str(home / "holdfast.toml"))
        action = reset_gpu(settings, node_name(settings), gate or DriverGate(), look, command=str(tool))
        return action.perform(Order(id=4, verb="reset_gpu", reason="Xid 119"), NOW)

    def situation(self, **fields: object) -> GpuSituation:
        gpus = {number: f"GPU-{number}" for number in range(8)}
        reported = {"processes": {number: [] for number in gpus}, "allocated": False, "architecture": "hopper",
                "nvswitch": True, "fabric_manager": True, **fields}  # fmt: skip
        return GpuSituation(gpus=gpus, **reported)  # type: ignore[arg-type]

    def test_the_sick_gpu_is_reset_and_its_old_events_no_longer_count(self, home: Path) -> None:
        outcome = self.perform(home, lambda: self.situation(suspects=(3,)))
        assert outcome.ok, outcome.reason
        assert (home / "called").read_text() == "--gpu-reset -i GPU-3\n"
        marks = (home / "state" / REPAIRS).read_text()
        assert "node/n01/gpu/3" in marks
        assert "gpu/4" not in marks

    def test_it_is_refused_while_a_process_holds_a_gpu(self, home: Path) -> None:
        busy = {number: [4711] if number == 2 else [] for number in range(8)}
        outcome = self.perform(home, lambda: self.situation(processes=busy))
        assert not outcome.ok
        assert "4711" in outcome.reason
        assert not (home / "called").exists()
        assert not (home / "state" / REPAIRS).exists()

    def test_a_gpu_that_is_lost_afterwards_is_no_success(self, home: Path) -> None:
        inject(home, "gpu_lost", gpu=3)
        outcome = self.perform(home, lambda: self.situation(suspects=(3,)))
        assert not outcome.ok
        assert "GPU 3 does not answer" in outcome.reason

    def test_on_a_twin_the_machines_own_tool_is_never_called(self, home: Path) -> None:
        settings = load_settings(str(home / "holdfast.toml"))
        outcome = reset_gpu(settings, "n01", DriverGate(), self.situation).perform(Order(id=4, verb="reset_gpu"), NOW)
        assert not outcome.ok
        assert "simulated" in outcome.reason


class _Driver:
    name, every, deadline, carries = "nvml", 1.0, 1.0, ("gpu_lost",)

    def read(self, now: float) -> Reading:
        return Reading(source=self.name, at=now)


def test_while_gpus_are_reset_no_one_asks_the_driver_and_blindness_says_why() -> None:
    gate = DriverGate()
    source = GatedSource(_Driver(), gate)
    assert source.read(NOW).blind == ""
    with gate.closed():
        assert source.read(NOW).blind == "the GPUs are being reset"
    assert source.read(NOW).blind == ""


def test_a_store_that_was_lost_counts_anew_and_its_order_is_really_done(tmp_path: Path) -> None:
    Bench(tmp_path).give(Order(id=1, verb="retest", suite="1", key="n01:retest:1.000"))
    after = Bench(tmp_path)
    after.give(Order(id=1, verb="retest", suite="1", key="n01:retest:2.000"))
    assert after.done == ["retest"], "the outcome of the first store's order 1 must not pass for this one's"
    assert [outcome.key for outcome in after.outcomes] == ["n01:retest:2.000"]


def test_a_number_that_was_another_verbs_is_another_order(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.give(Order(id=1, verb="reset_gpu"))
    bench.give(RETEST)
    assert bench.done == ["reset_gpu", "retest"]


def test_a_test_of_long_ago_is_no_answer_to_a_restored_store(tmp_path: Path) -> None:
    Bench(tmp_path).give(RETEST)
    after = Bench(tmp_path)
    after.now += STALE_SECONDS + 1
    after.give(RETEST)
    assert after.done == ["retest"]


def test_what_is_remembered_while_it_runs_has_an_end(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    for number in range(5 * MOST_REMEMBERED):
        bench.give(Order(id=number, verb="uncordon"))
    assert len((tmp_path / "orders.jsonl").read_bytes().splitlines()) <= 4 * MOST_REMEMBERED
    assert len(bench.orders._done) < 5 * MOST_REMEMBERED


def test_what_must_not_run_twice_is_not_begun_when_that_cannot_be_written_down(tmp_path: Path) -> None:
    """After a power-off the same order comes again, and nothing would know of the first time."""
    (tmp_path / "orders.jsonl").mkdir()  # nothing can be written there
    bench = Bench(tmp_path)
    bench.give(Order(id=7, verb="reset_gpu"))
    assert bench.done == [] and not bench.outcomes[-1].ok
    assert "cannot be written" in bench.outcomes[-1].reason
    bench.give(RETEST)
    assert bench.done == ["retest"], "what may be repeated is carried out"
