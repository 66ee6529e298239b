"""`dcgmi diag` without -j: the table. Long texts are cut and continue below an empty left cell."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from holdfast.formats.dcgm.diag_result import FAIL, PASS, SKIP, WARN, Diagnostic, DiagResult, gpus_named_in, status_of

_SECTION = re.compile(r"^[|+]-{3,}\s+(?P<title>\S.{0,80}?)\s+-")
_STATUS = re.compile(r"^(?P<status>pass|fail|warn|skip|not run|error)\b(?:\s*-\s*(?P<where>.*))?$", re.IGNORECASE)
_ENTITY = re.compile(r"^(?P<group>[a-z]+) ?(?P<id>\d{1,4}): (?P<status>pass|fail|warn|skip|not run)$", re.IGNORECASE)
_REMARK = re.compile(r"^(?P<kind>warning|error|info)(?:: GPU ?(?P<gpu>\d{1,4}))?$", re.IGNORECASE)


class _Cell(NamedTuple):
    section: str
    left: str
    right: str


def parse(text: str) -> Diagnostic | None:
    """The table's results, or None when the text holds no table."""
    cells = list(_cells(text))
    if not cells:
        return None
    metadata = {cell.left: cell.right for cell in cells if cell.section == "Metadata"}
    return Diagnostic(
        results=tuple(_results([cell for cell in cells if cell.section != "Metadata"])),
        dcgm_version=metadata.get("DCGM Version", ""),
        driver_version=metadata.get("Driver Version Detected", ""),
        complete=_ends(text),
    )


def _ends(text: str) -> bool:
    """Whether the line is the rule that ends a complete table."""
    ruled = [line.strip() for line in text.splitlines() if line.strip()[:1] in ("|", "+")]
    return ruled[-1].startswith("+-") and "  " not in ruled[-1]


def _cells(text: str) -> Iterator[_Cell]:
    """Each cell with its wrapped lines joined."""
    section, left, right = "", "", ""
    for line in map(str.strip, text.splitlines()):
        if title := _SECTION.match(line):
            if left:
                yield _Cell(section, left, " ".join(right.split()))
            section, left, right = title["title"], "", ""
        elif line.startswith("|") and not line.startswith("|-"):
            new_left, chunk = _split(line)
            if new_left or _stands_alone(chunk):
                if left:
                    yield _Cell(section, left, " ".join(right.split()))
                left, right = new_left or left, chunk
            else:
                right += chunk if _fills(line) or chunk[:1].isspace() else f" {chunk}"
    if left:
        yield _Cell(section, left, " ".join(right.split()))


def _split(line: str) -> tuple[str, str]:
    """The left cell, and the right cell as the tool cut it: it starts after one blank and ends before two."""
    left, _, right = line[1:].partition("|")
    right = right[1:].removesuffix("|")
    return left.strip(), right[:-2] if right.endswith("  ") else right.removesuffix(" ")


def _fills(line: str) -> bool:
    """Whether the line has its original padding, which shows where a word was cut.

    Without the padding, each line is taken to start with a new word.
    """
    return line.endswith("  |")


def _stands_alone(chunk: str) -> bool:
    """Whether a chunk below an empty left cell is a further result of the same test, and not the continuation of a
    text."""
    return bool(_STATUS.match(chunk.strip()) or _ENTITY.match(chunk.strip()))


def _results(cells: list[_Cell]) -> list[DiagResult]:
    results: list[DiagResult] = []
    test = ""
    for cell in cells:
        remark = _REMARK.match(cell.left)
        if entity := _ENTITY.match(cell.right):
            gpu = int(entity["id"]) if entity["group"].upper() == "GPU" else None
            results.append(DiagResult(test or cell.left, status_of(entity["status"]), gpu))
        elif status := _STATUS.match(cell.right):
            test = test if remark else cell.left
            results += _per_gpu(test, status_of(status["status"]), status["where"] or "")
        elif remark and remark["kind"].lower() != "info":
            _complain(results, test or cell.section, remark, cell.right)
    return _without_echoes(results)


def _per_gpu(test: str, status: str, where: str) -> list[DiagResult]:
    """Results by GPU. 'All' and an empty text mean the node; 'GPUs: 1, 2' and 'GPU 3: text' name GPUs."""
    listed, _, text = where.partition(": ") if re.match(r"GPU \d+: ", where) else (where, "", "")
    numbers = [int(number) for number in re.findall(r"\d{1,4}", listed)]
    if not numbers:
        return [DiagResult(test, status, None, "on all GPUs" if where and status != PASS else "")]
    return [DiagResult(test, status, number, text) for number in numbers]


def _complain(results: list[DiagResult], test: str, remark: re.Match[str], text: str) -> None:
    """Attaches a warning to the failed result it belongs to; without one, the warning becomes a result of its own."""
    named = [int(remark["gpu"])] if remark["gpu"] else gpus_named_in(text)
    gpu = named[0] if named else None
    bad = [index for index, result in enumerate(results) if result.test == test and result.status not in (PASS, SKIP)]
    for index in reversed(bad):
        if results[index].gpu == gpu:
            joined = f"{results[index].text}; {text}" if results[index].text else text
            results[index] = replace(results[index], text=joined)
            return
    alone = FAIL if remark["kind"].lower() == "error" else WARN
    status = results[bad[-1]].status if bad else alone
    results.append(DiagResult(test or "diagnostic", status, gpu, text))


def _without_echoes(results: list[DiagResult]) -> list[DiagResult]:
    """Removes the summary that DCGM 4 prints above its GPUs, if a GPU reports the same or worse; otherwise the
    summary stays."""
    kept = []
    for result in results:
        own = [other for other in results if other.test == result.test and other.gpu is not None]
        echoed = any(other.status == result.status for other in own)
        if result.gpu is not None or result.text or not echoed:
            kept.append(result)
    return kept
