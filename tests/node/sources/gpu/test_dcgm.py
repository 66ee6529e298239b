"""The diagnostic is run as a real program (a script that stands in for dcgmi)."""

import json
from pathlib import Path

from holdfast.model.signal import Reading, Value
from holdfast.node.sources.gpu.dcgm import DcgmDiagSource


def dcgmi(tmp_path: Path, output: str, code: int = 0) -> str:
    script = tmp_path / "dcgmi"
    (tmp_path / "output").write_text(output)
    script.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/asked\ncat {tmp_path}/output\nexit {code}\n')
    script.chmod(0o755)
    return str(script)


def document(*results: tuple[int, str, str]) -> str:
    entities = [
        {
            "entity_group": "GPU",
            "entity_id": gpu,
            "status": status,
            "warnings": [{"warning": text, "error_severity": 5}] if text else [],
        }
        for gpu, status, text in results
    ]
    tests = [{"name": "memory", "results": entities, "test_summary": {"status": "Pass"}}]
    return json.dumps({"DCGM Diagnostic": {"test_categories": [{"category": "Hardware", "tests": tests}]}})


def values(reading: Reading, subject: str) -> dict[str, Value]:
    return {signal.name: signal.value for signal in reading.signals if signal.subject == subject}


def test_a_failing_run_ends_with_an_error_code_and_is_still_read(tmp_path: Path) -> None:
    output = document((0, "Pass", ""), (1, "Fail", "bad page"))
    reading = DcgmDiagSource("n1", dcgmi(tmp_path, output, code=226)).read(0)
    assert values(reading, "node/n1/gpu/0")["dcgm_diag_tests_passed"] == 1
    failed = values(reading, "node/n1/gpu/1")
    assert (failed["dcgm_diag_tests_failed"], failed["dcgm_diag_complaint"]) == (1, "memory: bad page")
    assert failed["dcgm_diag_only_configuration"] == 1
    assert (tmp_path / "asked").read_text() == "diag -r 2 -j\n"


def test_a_pass_that_complains_counts_as_a_warning(tmp_path: Path) -> None:
    output = document((0, "Pass", "could not allocate enough memory"))
    seen = values(DcgmDiagSource("n1", dcgmi(tmp_path, output)).read(0), "node/n1/gpu/0")
    assert (seen["dcgm_diag_tests_passed"], seen["dcgm_diag_tests_warned"]) == (0, 1)


def test_a_run_that_breaks_off_is_not_finished(tmp_path: Path) -> None:
    output = document((0, "Pass", ""), (1, "Pass", ""))
    cut = output[: output.index('"entity_id": 1')]
    seen = values(DcgmDiagSource("n1", dcgmi(tmp_path, cut)).read(0), "node/n1")
    assert "did not finish" in str(seen["dcgm_diag_skipped_names"])


def test_no_dcgmi_and_no_host_engine_are_blindness_with_the_reason(tmp_path: Path) -> None:
    assert "is not installed" in DcgmDiagSource("n1", str(tmp_path / "none")).read(0).blind
    reading = DcgmDiagSource("n1", dcgmi(tmp_path, "Error: unable to establish a connection\n", 1)).read(0)
    assert reading.blind.endswith("did not run: Error: unable to establish a connection")
    assert "ended with code 7" in DcgmDiagSource("n1", dcgmi(tmp_path, "", 7)).read(0).blind


def test_an_exit_code_without_a_failed_test_is_no_pass(tmp_path: Path) -> None:
    output = document((0, "Pass", ""))
    isolate = values(DcgmDiagSource("n1", dcgmi(tmp_path, output, code=205)).read(0), "node/n1")
    assert isolate["dcgm_diag_tests_failed"] == 1
    assert "205" in str(isolate["dcgm_diag_complaint"])
    other = values(DcgmDiagSource("n1", dcgmi(tmp_path, output, code=226)).read(0), "node/n1")
    assert (other["dcgm_diag_tests_failed"], other["dcgm_diag_tests_skipped"]) == (0, 1)
    fine = values(DcgmDiagSource("n1", dcgmi(tmp_path, output)).read(0), "node/n1")
    assert (fine["dcgm_diag_tests_failed"], fine["dcgm_diag_tests_skipped"]) == (0, 0)
