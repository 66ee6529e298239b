"""Words in a block: found with the fast engine and without it, with the same result."""

from hypothesis import given
from hypothesis import strategies as st

from holdfast.formats.lines import keywords
from holdfast.formats.lines.keywords import Keywords

WORDS = (b"Xid", b"error", b"rror:", b"out of memory", b"[rank", b"Xid\n")
LINES = st.lists(
    st.sampled_from([b"all is well", b"an error: 5", b"[rank3]: CUDA out of memory", b"Xid Xid", b"", b"a\rXid"])
)


def without_engine(words: tuple[bytes, ...], common: tuple[bytes, ...] = (), *, re2: bool = False) -> Keywords:
    plain = Keywords(words, common)
    plain._engine = None
    plain._pattern = keywords._pattern(plain._words) if re2 else None
    return plain


def test_lines_are_reported_by_where_they_start() -> None:
    block = b"all is well\nNVRM: Xid 79\nan error: and an error: again\n"
    hits, seen = Keywords(WORDS, (b"well",)).find(block)
    assert {start: sorted(words) for start, words in hits.items()} == {12: [b"Xid"], 25: [b"error", b"rror:"]}
    assert seen == {b"well"}


def test_a_progress_bar_starts_a_line_with_every_carriage_return() -> None:
    assert list(Keywords(WORDS).find(b"  1%|\r  2%|\rXid\n")[0]) == [12]


@given(LINES, st.binary(max_size=200))
def test_all_ways_find_the_same(lines: list[bytes], noise: bytes) -> None:
    block = b"\n".join([*lines, noise, *lines]) + b"\n"
    fast = Keywords(WORDS, (b"well",)).find(block)
    for way in (without_engine(WORDS, (b"well",)), without_engine(WORDS, (b"well",), re2=True)):
        slow = way.find(block)
        assert {at: sorted(set(words)) for at, words in fast[0].items()} == {
            at: sorted(set(words)) for at, words in slow[0].items()
        }
        assert fast[1] == slow[1]
