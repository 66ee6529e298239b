"""The two flows of docs/architecture.md name files, functions and types that exist."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
TEXT = (ROOT / "docs" / "architecture.md").read_text()
FLOWS = TEXT[TEXT.index("## Two flows") : TEXT.index("## Packages")]
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")] for line in FLOWS.splitlines() if re.match(r"\| \d+ \|", line)
]

_FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)


def _files(cell: str) -> list[Path]:
    """A name without a folder is a sibling of the one before it."""
    found: list[Path] = []
    for name in re.findall(r"`([\w/]+\.py)`", cell):
        found.append(ROOT / "holdfast" / name if "/" in name else found[-1].parent / name)
    return found


def test_both_flows_are_there() -> None:
    assert [row[0] for row in ROWS] == [*map(str, range(1, 16)), *map(str, range(1, 13))]


def _defined(files: list[Path]) -> set[str]:
    """Functions by name, methods as Class.method."""
    found = set()
    for file in files:
        for node in ast.parse(file.read_text()).body:
            found |= {node.name} if isinstance(node, _FUNCTION) else set()
            if isinstance(node, ast.ClassDef):
                found |= {f"{node.name}.{one.name}" for one in node.body if isinstance(one, _FUNCTION)}
    return found


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]} {row[1][:40]}")
def test_each_step_names_files_functions_and_types_that_exist(row: list[str]) -> None:
    _, _, types, functions, cell = row
    files = _files(cell)
    assert files and all(file.is_file() for file in files), cell
    text = "".join(file.read_text() for file in files)
    for name in re.findall(r"`([A-Z]\w+)`", types):
        assert re.search(rf"\b{name}\b", text), f"{name} is not in {cell}"
    named = set(re.findall(r"`([\w.]+)`", functions))
    assert named and named <= _defined(files)
