"""`dcgmi diag` for the bootstrap suite. It takes minutes and the whole GPU, so it never runs beside a job."""

import subprocess
from collections import Counter

from holdfast.formats.dcgm import diag as dcgm_diag
from holdfast.formats.dcgm.diag_result import CONFIGURATION_SEVERITY, FAIL, PASS, SKIP, WARN, Diagnostic, DiagResult
from holdfast.model import subject
from holdfast.model.signal import Reading
from holdfast.model.subject import Subject
from holdfast.runtime import process
from holdfast.runtime.source import ReadingBuilder

_COUNTS = {
    PASS: "dcgm_diag_tests_passed",
    WARN: "dcgm_diag_tests_warned",
    FAIL: "dcgm_diag_tests_failed",
    SKIP: "dcgm_diag_tests_skipped",
}
ISOLATE = 205  # DCGM_ST_NVVS_ISOLATE_ERROR (-51) as an exit code
_TIME_FOR_LEVEL_SECONDS = {1: 120.0, 2: 900.0, 3: 3600.0, 4: 4 * 3600.0}


class DcgmDiagSource:
    name = "dcgm_diag"
    every = 86400.0
    carries: tuple[str, ...] = (
        "dcgm_diag_level",
        *_COUNTS.values(),
        "dcgm_diag_complaint",
        "dcgm_diag_skipped_names",
        "dcgm_diag_only_configuration",
        "dcgm_version",
    )

    def __init__(self, node: str, dcgmi: str = "dcgmi", level: int = 2) -> None:
        self._node = node
        self._dcgmi = dcgmi
        self._level = level
        self.deadline = _TIME_FOR_LEVEL_SECONDS[level]

    def read(self, now: float) -> Reading:
        text, trouble, code = self._run()
        found = dcgm_diag.parse(text) if text else Diagnostic(error=trouble)
        if not found.results:
            problem = found.error or trouble
            return Reading(source=self.name, at=now, blind=f"the DCGM diagnostic did not run: {problem}")
        builder = ReadingBuilder()
        node = subject.node(self._node)
        builder.add(node, "dcgm_diag_level", float(self._level))
        if found.dcgm_version:
            builder.add(node, "dcgm_version", found.dcgm_version)
        unfinished = found.error or ("" if found.complete else trouble or "its output breaks off")
        by_subject: dict[Subject, list[DiagResult]] = {node: []}
        for result in found.results:
            about = node if result.gpu is None else subject.gpu(self._node, result.gpu)
            by_subject.setdefault(about, []).append(result)
        if code and not any(result.status in (FAIL, WARN) for result in found.results):
            by_subject[node].append(_without_a_result(code))
        if unfinished:
            by_subject[node].append(DiagResult("diagnostic", SKIP, None, f"did not finish: {unfinished}"))
        for about, results in by_subject.items():
            _notify(builder, about, results)
        return builder.build(self.name, now)

    def _run(self) -> tuple[str, str, int]:
        """Output of dcgmi, the error to report if it contains no result, and its exit code."""
        command = [self._dcgmi, "diag", "-r", str(self._level), "-j"]
        try:
            done = process.capture(command, self.deadline - 10.0)
        except FileNotFoundError:
            return "", f"{self._dcgmi} is not installed", 0
        except subprocess.TimeoutExpired as error:
            return (error.stdout or b"").decode(errors="replace"), f"no end after {self.deadline - 10.0:.0f} s", 0
        except OSError as error:
            return "", f"{self._dcgmi} cannot be started: {error.strerror}", 0
        text = done.stdout.decode(errors="replace")
        code = done.returncode
        return text or done.stderr.decode(errors="replace"), f"dcgmi ended with code {code}", code


def _without_a_result(code: int) -> DiagResult:
    """If dcgmi exits with an error and names no test, the exit code is the result, and it is not a pass."""
    if code == ISOLATE:
        return DiagResult(
            "exit code", FAIL, None, f"dcgmi ended with code {code}: a GPU has to be isolated and drained"
        )
    return DiagResult("exit code", SKIP, None, f"dcgmi ended with code {code} and names no failed test")


def _notify(builder: ReadingBuilder, about: Subject, results: list[DiagResult]) -> None:
    counts = Counter(_effective(result) for result in results)
    for status, name in _COUNTS.items():
        builder.add(about, name, float(counts[status]))
    bad = [result for result in results if _effective(result) in (FAIL, WARN)]
    bad.sort(key=lambda result: result.status != FAIL)
    builder.add(about, "dcgm_diag_complaint", "; ".join(_sentence(result) for result in bad))
    skipped = [_sentence(result) for result in results if result.status == SKIP]
    builder.add(about, "dcgm_diag_skipped_names", ", ".join(skipped))
    only = bool(bad) and all(result.severity == CONFIGURATION_SEVERITY for result in bad)
    builder.add(about, "dcgm_diag_only_configuration", float(only))


def _effective(result: DiagResult) -> str:
    """A pass with a complaint is a warning: DCGM passes tests that could not allocate their memory."""
    return WARN if result.status == PASS and result.text else result.status


def _sentence(result: DiagResult) -> str:
    return f"{result.test}: {result.text}" if result.text else result.test
