"""Private words that were replaced stay away from names: the field has its own (docs/glossary.md)."""

import io
import re
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# fmt: off
REPLACED = frozenset(
    (
        "deed", "deeds", "desk", "told", "wish", "wishes", "standing", "judgement",
        "happening", "meetings", "programme", "company", "lemon", "vault", "mended", "nobody",
        "whom", "luck", "patience", "sway",
    )
)
# fmt: on
PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def parts(name: str) -> set[str]:
    return {part.lower() for part in PARTS.findall(name)}


def names(code: str) -> set[str]:
    tokens = tokenize.generate_tokens(io.StringIO(code).readline)
    return {token.string for token in tokens if token.type == tokenize.NAME}


@pytest.mark.parametrize(
    ("name", "found"),
    [("told_by", {"told"}), ("ToldBy", {"told"}), ("_NOBODY", {"nobody"}), ("tolder", set()), ("understanding", set())],
)
def test_a_name_is_split_into_its_words(name: str, found: set[str]) -> None:
    assert parts(name) & REPLACED == found


def test_no_name_of_the_product_has_a_replaced_word() -> None:
    found = set()
    for file in sorted((ROOT / "holdfast").rglob("*.py")):
        code = file.read_text("utf-8")
        if not any(word in code.lower() for word in REPLACED):
            continue
        place = str(file.relative_to(ROOT))
        found |= {f"{place}: {name}" for name in {*names(code), place} if parts(name) & REPLACED}
    assert found == set()
