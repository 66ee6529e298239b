"""`dcgmi diag -j`: the layout of DCGM 2 and 3 (gpu_ids) and that of DCGM 4 (entities, a summary per test)."""

import itertools
import json
import re
from collections.abc import Iterator
from typing import Any

from holdfast.formats.dcgm.diag_result import FAIL, PASS, SKIP, WARN, Diagnostic, DiagResult, gpus_named_in, status_of

_ROOTS = ("DCGM Diagnostic", "DCGM GPU Diagnostic")
_MOST_TRIES = 20  # other objects that a wrapper may print before the diagnostic
_WORST_LAST = (SKIP, PASS, WARN, FAIL)


def parse(text: str) -> Diagnostic | None:
    """Parses the first JSON object that is a diagnostic, after any other text; None if there is none."""
    for found in itertools.islice(re.finditer(r"^[ \t]*\{", text, re.MULTILINE), _MOST_TRIES):
        document, complete = _load(text[found.start() :])
        root = _root(document)
        if root is not None and isinstance(document, dict):
            return _diagnostic(document, root, complete)
    return None


def _load(text: str) -> tuple[Any, bool]:
    """The object at the start of the text, and whether it was complete."""
    try:
        return json.JSONDecoder().raw_decode(text.lstrip())[0], True
    except (ValueError, RecursionError):
        pass
    try:
        return json.loads(_closed(text)), False
    except (ValueError, RecursionError):
        return None, False


def _closed(text: str) -> str:
    """A truncated text, cut after its last complete object or list, with open brackets closed."""
    open_brackets: list[str] = []
    cut, still_open = 0, ""
    for token in re.finditer(r'"(?:[^"\\]|\\.)*"|[{}\[\]]', text):
        char = token[0]
        if char in "{[":
            open_brackets.append("}" if char == "{" else "]")
        elif char in "}]":
            if not open_brackets or open_brackets.pop() != char:
                break
            cut, still_open = token.end(), "".join(reversed(open_brackets))
            if not open_brackets:
                break
    return text[:cut] + still_open


def _root(document: Any) -> dict[str, Any] | None:
    if not isinstance(document, dict):
        return None
    for name in _ROOTS:
        if isinstance(document.get(name), dict):
            return dict(document[name])
    return document if "test_categories" in document or "tests" in document else None


def _diagnostic(document: dict[str, Any], root: dict[str, Any], complete: bool) -> Diagnostic:
    metadata = {**root, **_dict(document.get("metadata"))}
    error = root.get("runtime_error") or document.get("runtime_error") or ""
    return Diagnostic(
        results=tuple(result for test in _tests(root) for result in _results(test)),
        dcgm_version=str(metadata.get("version", "")),
        driver_version=str(metadata.get("Driver Version Detected", "")),
        error=error if isinstance(error, str) else str(error),
        complete=complete,
    )


def _tests(root: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for category in [*_dicts(root.get("test_categories")), root]:
        yield from _dicts(category.get("tests"))


def _results(test: dict[str, Any]) -> Iterator[DiagResult]:
    name = str(test.get("name", "unnamed test"))
    found = [result for entry in _dicts(test.get("results")) for result in _entry(name, entry)]
    yield from found
    if not isinstance(test.get("test_summary"), dict):
        return
    summary = next(_entry(name, test["test_summary"]))
    reported = {result.text for result in found}
    worst = max((_WORST_LAST.index(result.status) for result in found), default=-1)
    # A test can fail as a whole (a child process died) although each of its entities says Pass.
    if _WORST_LAST.index(summary.status) > worst or (summary.text and summary.text not in reported):
        yield summary


def _entry(name: str, entry: dict[str, Any]) -> Iterator[DiagResult]:
    status = status_of(entry.get("status"))
    text, severity = _complaint(entry)
    gpus: list[int | None] = [*_gpus(entry)]
    if status not in (PASS, SKIP) and len(gpus) > 1:  # one verdict for a list of GPUs: the text says which
        gpus = [gpu for gpu in gpus if gpu in gpus_named_in(text)] or gpus
    for gpu in gpus or [None]:
        yield DiagResult(name, status, gpu, text, severity)


def _gpus(entry: dict[str, Any]) -> list[int]:
    if str(entry.get("entity_group", "")).upper() == "GPU":
        return _numbers(entry.get("entity_id"))
    return _numbers(entry.get("gpu_ids", entry.get("gpu_id")))


def _numbers(value: Any) -> list[int]:
    """[0, 1] from 0, "0", "0,1" or [0, 1]."""
    if isinstance(value, bool):
        return []
    if isinstance(value, list):
        return [number for item in value for number in _numbers(item)]
    return [int(number) for number in re.findall(r"(?<!\d)\d{1,4}(?!\d)", str(value))]


def _complaint(entry: dict[str, Any]) -> tuple[str, int]:
    """The warnings in one line, and their severity if it is the same for all."""
    warnings = entry.get("warnings", entry.get("warning", []))
    texts, severities = [], []
    for warning in warnings if isinstance(warnings, list) else [warnings]:
        if isinstance(warning, dict):
            texts.append(str(warning.get("warning", "")))
            severity = warning.get("error_severity", 0)
            severities.append(severity if isinstance(severity, int) else 0)
        else:
            texts.append(str(warning))
    agreed = severities[0] if severities and len(set(severities)) == 1 else 0
    return "; ".join(" ".join(text.split()) for text in texts if text.strip()), agreed


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
