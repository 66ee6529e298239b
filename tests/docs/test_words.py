"""Words of our own that were replaced stay out of names: modules, code, JSON keys, metrics, commands and the page."""

import io
import re
import tokenize
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LIST = tomllib.loads(Path(__file__).with_name("replaced_words.toml").read_text("utf-8"))
REPLACED = frozenset(LIST["words"])
PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
KEY = re.compile(r"[\"'`]([A-Za-z][\w./-]*)[\"'`]")  # a string that is one word: a key, a metric, an option
NAME = re.compile(r"\b[A-Za-z_]\w*\b")
COMMENT = re.compile(r"//.*|/\*.*?\*/|\"[^\"\n]*\"|`[^`]*`", re.DOTALL)


def parts(name: str) -> set[str]:
    return {part.lower() for part in PARTS.findall(name)}


def python_names(code: str) -> Iterator[str]:
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        if token.type == tokenize.NAME:
            yield token.string
        elif token.type == tokenize.STRING:
            yield from KEY.findall(token.string)


def names(file: Path, text: str) -> set[str]:
    if file.suffix == ".py":
        return set(python_names(text))
    if file.suffix in (".ts", ".tsx"):
        return {*NAME.findall(COMMENT.sub(" ", text)), *KEY.findall(text)}
    return set(re.findall(r"`([\w./-]+)`", text))  # Markdown: what stands as code


def files() -> Iterator[Path]:
    for folder, suffixes in (
        ("holdfast", (".py",)),
        ("bench", (".py",)),
        ("scripts", (".py",)),
        ("console/src", (".ts", ".tsx")),
        ("docs", (".md",)),
    ):
        yield from (path for path in sorted((ROOT / folder).rglob("*")) if path.suffix in suffixes)


def replaced(file: Path, text: str) -> set[str]:
    place = file.relative_to(ROOT).as_posix()
    found = {name for name in names(file, text) if parts(name) & REPLACED}
    found |= {file.stem} if parts(file.stem) & REPLACED or file.stem in LIST["modules"] else set()
    return {f"{place}: {name}" for name in found} if f"{place}: *" not in LIST["kept"] else set()


@pytest.mark.parametrize(
    ("name", "found"),
    [("told_by", {"told"}), ("ToldBy", {"told"}), ("_NOBODY", {"nobody"}), ("tolder", set()), ("understanding", set())],
)
def test_a_name_is_split_into_its_words(name: str, found: set[str]) -> None:
    assert parts(name) & REPLACED == found


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("holdfast/x.py", "wishes = 1", {"wishes"}),
        ("holdfast/x.py", 'x = {"rungs": 1}', {"rungs"}),
        ("holdfast/x.py", 'x = "as it was told"  # nobody', set()),
        ("holdfast/vault.py", "", {"vault"}),
        ("holdfast/lookup.py", "", {"lookup"}),
        ("console/src/x.ts", "const toldBy = 1; // told", {"toldBy"}),
        ("console/src/x.ts", 'const a = "they were told"', set()),
        ("docs/x.md", "they were told; `holdfast_rungs_total`", {"holdfast_rungs_total"}),
    ],
)
def test_names_and_keys_are_read_and_sentences_are_not(name: str, text: str, found: set[str]) -> None:
    assert replaced(ROOT / name, text) == {f"{name}: {one}" for one in found}


def test_no_name_has_a_replaced_word() -> None:
    found = set()
    for file in files():
        text = file.read_text("utf-8")
        if file.stem in LIST["modules"] or any(word in file.stem.lower() or word in text.lower() for word in REPLACED):
            found |= replaced(file, text)
    assert found - set(LIST["kept"]) == set()
    assert {one for one in LIST["kept"] if not one.endswith("*")} <= found, "no longer there: take it off the list"
