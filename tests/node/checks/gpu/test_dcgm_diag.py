"""dcgm.diag: what the diagnostic said, as verdicts."""

from holdfast.model.health import Health
from holdfast.model.history import History
from holdfast.model.inventory import Inventory
from holdfast.model.signal import Reading, Signal, Value
from holdfast.model.verdict import Verdict
from holdfast.node.checks.gpu.dcgm_diag import CHECK

NODE = "node/n1"
GPUS = tuple(f"node/n1/gpu/{index}" for index in range(3))


def ask(results: dict[str, dict[str, Value]], lacks: dict[str, str] | None = None) -> Verdict:
    history = History("n1")
    history.inventory = Inventory(node="n1", subjects=frozenset({NODE, *GPUS}), lacks=lacks or {})
    signals = [Signal(NODE, "dcgm_diag_level", 2.0)] if results else []
    for subject, values in results.items():
        full: dict[str, Value] = {"passed": 0.0, "failed": 0.0, "warned": 0.0, "skipped": 0.0} | values
        names = {name: f"dcgm_diag_tests_{name}" for name in ("passed", "failed", "warned", "skipped")}
        signals += [Signal(subject, names.get(name, f"dcgm_diag_{name}"), value) for name, value in full.items()]
    history.promise("dcgm_diag", ("dcgm_diag_level",))
    blind = "" if results else "the DCGM diagnostic did not run: dcgmi is not installed"
    history.add(Reading(source="dcgm_diag", at=0, signals=signals, blind=blind))
    return CHECK(history.window(0, 600))


GOOD: dict[str, Value] = {"passed": 5.0}


def test_a_failure_names_gpu_test_and_text_and_hides_no_other() -> None:
    bad: dict[str, Value] = {"failed": 1.0, "complaint": "memory: row remapping pending"}
    verdict = ask({GPUS[0]: GOOD, GPUS[1]: bad, GPUS[2]: GOOD})
    assert [row.health for row in verdict.rows] == [Health.PASS, Health.FAIL, Health.PASS]
    assert verdict.summary() == "gpu 1: DCGM fails 1 tests: memory: row remapping pending"
    assert verdict.owner == "hardware"


def test_a_setting_is_the_platforms_to_change() -> None:
    bad: dict[str, Value] = {"failed": 1.0, "complaint": "software: persistence mode off", "only_configuration": 1.0}
    verdict = ask(dict.fromkeys(GPUS, bad))
    assert (verdict.health, verdict.owner) == (Health.FAIL, "platform")


def test_a_warning_degrades() -> None:
    warned: dict[str, Value] = {"passed": 4.0, "warned": 1.0, "complaint": "pcie: replays"}
    verdict = ask({GPUS[0]: GOOD, GPUS[1]: warned, GPUS[2]: GOOD})
    assert (verdict.health, verdict.summary()) == (Health.DEGRADED, "gpu 1: DCGM warns: pcie: replays")


def test_a_skipped_test_is_no_pass() -> None:
    skipped: dict[str, Value] = {"passed": 4.0, "skipped": 1.0, "skipped_names": "memory"}
    verdict = ask({GPUS[0]: GOOD, GPUS[1]: skipped, GPUS[2]: GOOD})
    assert (verdict.health, verdict.summary()) == (Health.UNKNOWN, "gpu 1: DCGM did not test: memory")


def test_a_gpu_without_a_result_is_unknown() -> None:
    verdict = ask({GPUS[0]: GOOD, GPUS[1]: GOOD})
    assert verdict.health is Health.UNKNOWN
    assert "no result for this GPU" in verdict.summary()


def test_a_diagnostic_that_speaks_of_the_node_alone_speaks_for_its_gpus() -> None:
    assert ask({NODE: GOOD}).health is Health.PASS


def test_no_dcgmi_is_unknown_unless_the_manifest_lacks_dcgm() -> None:
    assert "dcgmi is not installed" in ask({}).summary()
    assert ask({}).health is Health.UNKNOWN
    assert ask({}, lacks={"dcgm": "the manifest says so"}).health is Health.NOT_APPLICABLE


def test_the_level_and_the_passed_tests_are_evidence() -> None:
    assert ask({GPUS[0]: GOOD, GPUS[1]: {"passed": 4.0}}).evidence == ("dcgmi diag -r 2: 9 tests passed",)


def test_one_gpu_with_a_real_fault_leaves_the_case_with_hardware() -> None:
    setting: dict[str, Value] = {"failed": 1.0, "only_configuration": 1.0}
    broken: dict[str, Value] = {"failed": 1.0, "only_configuration": 0.0}
    verdict = ask({GPUS[0]: setting, GPUS[1]: broken, GPUS[2]: GOOD})
    assert verdict.owner == "hardware"
    assert "RMA" in verdict.remedy


def test_gpus_that_pass_do_not_hide_that_the_rest_is_a_setting() -> None:
    setting: dict[str, Value] = {"warned": 1.0, "only_configuration": 1.0}
    verdict = ask({GPUS[0]: setting, GPUS[1]: GOOD, GPUS[2]: GOOD})
    assert (verdict.owner, verdict.remedy) == (
        "platform",
        "change the setting that DCGM names, then run the diagnostic again",
    )


def test_a_failure_counts_before_a_skip_and_a_skip_before_a_warning() -> None:
    every: dict[str, Value] = {"failed": 2.0, "skipped": 1.0, "warned": 1.0}
    assert ask(dict.fromkeys(GPUS, every)).rows[0].value == 2.0
    skipped: dict[str, Value] = {**every, "failed": 0.0}
    verdict = ask(dict.fromkeys(GPUS, skipped))
    assert verdict.health is Health.UNKNOWN
    failed = ask({GPUS[0]: {"failed": 1.0}, GPUS[1]: GOOD, GPUS[2]: GOOD}).rows[0]
    assert failed.reason == "DCGM fails 1 tests: without a reason"


def test_a_pass_reports_how_many_tests_it_rests_on() -> None:
    assert ask(dict.fromkeys(GPUS, GOOD)).rows[0].value == 5.0
    assert {row.value for row in ask({NODE: GOOD}).rows} == {5.0}


def test_a_diagnostic_that_reports_only_what_passed_is_believed() -> None:
    history = History("n1")
    history.inventory = Inventory(node="n1", subjects=frozenset(GPUS[:1]))
    signals = [Signal(GPUS[0], "dcgm_diag_tests_passed", 0.0)]
    history.add(Reading(source="dcgm_diag", at=0, signals=signals))
    verdict = CHECK(history.window(0, 600))
    assert verdict.evidence == ("dcgmi diag -r 0: 0 tests passed",)
    history.add(Reading(source="dcgm_diag", at=0, signals=[*signals, Signal(NODE, "dcgm_diag_level", 2.0)]))
    row = CHECK(history.window(0, 600)).rows[0]
    assert (row.health, row.value) == (Health.PASS, 0.0)


def test_what_dcgm_found_is_so_many_of_none() -> None:
    failed = ask({GPUS[0]: {"failed": 2.0}, GPUS[1]: {"warned": 3.0}, GPUS[2]: GOOD}).rows
    assert [(row.value, row.limit) for row in failed[:2]] == [(2.0, 0.0), (3.0, 0.0)]


def test_without_a_fault_nothing_is_the_platforms() -> None:
    assert ask(dict.fromkeys(GPUS, GOOD)).remedy == ""
