"""Result of a DCGM diagnostic in any layout: one result per test and GPU."""

import re
from dataclasses import dataclass

PASS, WARN, FAIL, SKIP = "pass", "warn", "fail", "skip"
_WORDS = {"pass": PASS, "passed": PASS, "warn": WARN, "warning": WARN, "fail": FAIL, "failed": FAIL, "error": FAIL}
_NAMED_GPU = re.compile(r"\bGPU ?(\d{1,4})\b")

CONFIGURATION_SEVERITY = 5  # DCGM's term for a setting of the node, as opposed to its hardware


@dataclass(frozen=True, slots=True)
class DiagResult:
    test: str
    status: str  # pass, warn, fail, skip; any other status counts as skip, because the test has no result
    gpu: int | None = None  # None: the result concerns the whole node
    text: str = ""  # DCGM's message, '' without one
    severity: int = 0  # DCGM 4's error severity, 0 when not given


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostic:
    results: tuple[DiagResult, ...] = ()
    dcgm_version: str = ""
    driver_version: str = ""
    error: str = ""  # why the diagnostic did not run or did not finish
    complete: bool = True  # False: the text is truncated


def status_of(word: object) -> str:
    return _WORDS.get(str(word).strip().lower(), SKIP)


def gpus_named_in(text: str) -> list[int]:
    return [int(number) for number in dict.fromkeys(_NAMED_GPU.findall(text))]
