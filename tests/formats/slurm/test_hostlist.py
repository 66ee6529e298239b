"""Hostlists: what Slurm writes can be read, and what we write reads back as the same names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.formats.slurm.hostlist import NotAHostlist, compress, expand


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("n1", ["n1"]),
        ("n[001-003,020]", ["n001", "n002", "n003", "n020"]),
        ("n[9-11]", ["n9", "n10", "n11"]),
        ("a1,b[2-3],c", ["a1", "b2", "b3", "c"]),
        ("r[1-2]n[01-02]-ib", ["r1n01-ib", "r1n02-ib", "r2n01-ib", "r2n02-ib"]),
        ("n[1-2],n2", ["n1", "n2"]),
        ("(null)", []),
        ("", []),
        ("None assigned", []),
    ],
)
def test_expands(text: str, names: list[str]) -> None:
    assert expand(text) == names


@pytest.mark.parametrize(
    "text",
    [
        "n[1-",
        "n]1[",
        "n[2-1]",
        "n[a-b]",
        "n[]",
        "a,,b",
        "n[1-9999999999]",
        "n[[1]]",
        "two words",
        "(Resources)",
        "n[1-1000000][1-9]",
    ],
)
def test_says_what_is_no_hostlist(text: str) -> None:
    with pytest.raises(NotAHostlist):
        expand(text)


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ({"n1"}, "n1"),
        ({"n001", "n002", "n003", "n020"}, "n[001-003,020]"),
        ({"n008", "n009", "n010", "n011"}, "n[008-011]"),
        ({"n9", "n10", "n11"}, "n[9-11]"),
        ({"n1", "n01"}, "n01,n1"),
        ({"login", "n2", "n1"}, "login,n[1-2]"),
        (set(), ""),
    ],
)
def test_compresses(names: set[str], text: str) -> None:
    assert compress(names) == text


names = st.sets(st.from_regex(r"[a-z]{0,2}-?[0-9]{0,4}", fullmatch=True).filter(bool), max_size=30)


@given(names)
def test_what_is_compressed_expands_to_the_same_names(some: set[str]) -> None:
    assert set(expand(compress(some))) == some


@given(st.integers(0, 12000), st.integers(1, 300), st.integers(1, 5))
def test_a_run_of_nodes_is_one_bracket(first: int, count: int, width: int) -> None:
    run = [f"n{i:0{width}d}" for i in range(first, first + count)]
    text = compress(run)
    assert set(expand(text)) == set(run)
    assert text.count("[") <= 2  # two where the numbers outgrow their padding


@given(st.text(st.sampled_from("n0129-[],ab .\n"), max_size=40) | st.text(max_size=20))
def test_any_text_is_a_list_or_refused(text: str) -> None:
    try:
        found = expand(text)
    except NotAHostlist:
        return
    assert len(found) == len(set(found))


@pytest.mark.parametrize("name", ["", "a,b", "n[1]", "a b"])
def test_refuses_to_write_what_is_no_name(name: str) -> None:
    with pytest.raises(NotAHostlist):
        compress([name])
