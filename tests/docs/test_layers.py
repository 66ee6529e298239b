"""The layers contract and the tree in docs/architecture.md list every package: a new one fails until it has a place."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SPLIT = ("economics", "fleet", "lab", "node")  # grouped by who uses them: their layers are those of their packages
DEEPER = {"holdfast.diagnosis", "holdfast.node.probes"}  # a pure part below, a part with I/O above


def packages() -> set[str]:
    top = {path.parent for path in (ROOT / "holdfast").glob("*/__init__.py")}
    inner = {path.parent for name in SPLIT for path in (ROOT / "holdfast" / name).glob("*/__init__.py")}
    inner |= {
        path.with_suffix("")
        for name in SPLIT
        for path in (ROOT / "holdfast" / name).glob("*.py")
        if path.name != "__init__.py"
    }
    found = {".".join(path.relative_to(ROOT).parts) for path in top | inner if path.name not in SPLIT}
    deeper = {
        f"{name}.{path.parent.name}"
        for name in DEEPER
        for path in (ROOT / name.replace(".", "/")).glob("*/__init__.py")
    }
    return (found - DEEPER) | deeper


def test_every_package_is_in_the_layers() -> None:
    tool = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    layers = next(one["layers"] for one in tool["contracts"] if one["type"] == "layers")
    listed = [name.strip() for layer in layers for name in layer.replace(":", "|").split("|")]
    assert sorted(listed) == sorted(packages())


def test_no_folder_has_more_than_25_modules() -> None:
    folders = {path.parent for path in (ROOT / "holdfast").rglob("*.py")}
    counts = {
        str(folder.relative_to(ROOT)): sum(path.name != "__init__.py" for path in folder.glob("*.py"))
        for folder in folders
    }
    assert {folder: count for folder, count in counts.items() if count > 25} == {}


TREE_LINES = 50  # one screen
_TREE_LINE = re.compile(r"(?P<indent>  |    )(?P<names>(?:\w+/ )*\w+/) +(?P<phrase>\S.*)")


def described(tree: str) -> list[str]:
    """Folders that the tree names, each with the phrase of its line."""
    found = []
    top = ""
    for line in tree.splitlines():
        match = _TREE_LINE.fullmatch(line)
        assert match, f"expected folders with a phrase: {line!r}"
        names = [name.rstrip("/") for name in match["names"].split()]
        if match["indent"] == "  ":
            (top,) = names
            found.append(top)
        else:
            found += [f"{top}/{name}" for name in names]
    return found


def test_the_tree_of_the_architecture_page_names_each_folder_once_on_one_screen() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    tree = text.partition("```\nholdfast/\n")[2].partition("```")[0]
    folders = {path.parent for pattern in ("*/*.py", "*/*/*.py") for path in (ROOT / "holdfast").glob(pattern)}
    assert sorted(described(tree)) == sorted(str(path.relative_to(ROOT / "holdfast")) for path in folders)
    assert tree.count("\n") + 1 <= TREE_LINES
