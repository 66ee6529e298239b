"""Digests: small, fixed, and silent about what nobody measured."""

from hypothesis import given
from hypothesis import strategies as st

from holdfast.model.wire.digest import GPUS, SIGNALS, pack, unpack
from holdfast.model.wire.report import LARGEST_DIGEST

NUMBERS = st.floats(-(2.0**100), 2.0**100, width=32)
PLACES = st.tuples(st.integers(0, GPUS - 1), st.sampled_from(SIGNALS))


@given(st.dictionaries(PLACES, NUMBERS))
def test_what_is_known_comes_back_and_nothing_else(known: dict[tuple[int, str], float]) -> None:
    digest = pack("n1", lambda subject, name: known.get((int(subject.rpartition("/")[2]), name)))
    assert unpack(digest) == known
    assert len(digest) <= LARGEST_DIGEST


def test_a_number_too_large_for_four_bytes_is_not_known() -> None:
    assert unpack(pack("n1", lambda subject, name: 1e300)) == {}


def test_a_digest_holds_at_most_64_numbers() -> None:
    assert GPUS * len(SIGNALS) <= 64


@given(st.binary(max_size=300))
def test_any_bytes_can_be_looked_at(digest: bytes) -> None:
    assert set(unpack(digest)) <= {(index, name) for index in range(GPUS) for name in SIGNALS}
