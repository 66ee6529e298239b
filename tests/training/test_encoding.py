"""States go in and come out the same; anything else is a sentence; strange bytes never do more than be refused."""

import random

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from holdfast.training.checkpoint.format import shard
from holdfast.training.checkpoint.format.encoding import decode, encode
from holdfast.training.checkpoint.format.message import EncodingError, pack, unpack

leaves = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary()
    | st.sampled_from([torch.float32, torch.bfloat16, torch.Size([2, 3])])
)
trees = st.recursive(
    leaves,
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(-9, 9), inner) | st.tuples(inner, inner),
    max_leaves=12,
)
ABOUT = shard.About("job", 1, 4, 9)


def through(state: object) -> object:
    encoded = encode(state)
    layout = shard.plan(ABOUT, encoded)
    buffer = bytearray(layout.size)
    shard.write(layout, encoded, buffer)
    got = shard.read(buffer, layout.size)
    assert got.about == ABOUT
    return decode(got.tree, got.tensors)


@given(trees)
def test_plain_values_come_back_as_they_were(tree: object) -> None:
    assert through(tree) == tree


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.bfloat16, torch.int64, torch.bool, torch.complex64, torch.uint8]
)
@pytest.mark.parametrize("shape", [(), (0,), (3, 5), (1, 2, 3)])
def test_tensors_come_back_bit_for_bit(dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    tensor = torch.randint(0, 2, shape).to(dtype)
    back = through({"a": [tensor, tensor.T if tensor.ndim == 2 else tensor]})
    assert torch.equal(back["a"][0], tensor)  # type: ignore[index]
    assert back["a"][0].dtype == dtype  # type: ignore[index]


def test_generators_go_on_where_they_were() -> None:
    for generator in (random.Random(3), np.random.default_rng(3)):
        state = generator.getstate() if isinstance(generator, random.Random) else generator.bit_generator.state
        assert through(state) == state


def test_what_would_need_code_is_refused_with_its_place() -> None:
    with pytest.raises(EncodingError, match=r"state at loader.source: a object cannot be saved"):
        encode({"loader": {"source": object()}})
    with pytest.raises(EncodingError, match="neither text nor a whole number"):
        encode({(1, 2): 3})


@given(st.binary(max_size=200))
def test_any_bytes_are_a_message_or_an_error(raw: bytes) -> None:
    try:
        unpack(raw)
    except EncodingError:
        return


@given(st.binary(max_size=200), st.booleans())
def test_any_bytes_are_a_shard_or_an_error(raw: bytes, headed: bool) -> None:
    whole = bytearray(shard.HEAD.pack(shard.MAGIC, len(raw)) + raw + bytes(64) if headed else raw)
    with pytest.raises(EncodingError):
        shard.read(whole, len(whole))


@given(
    st.recursive(
        st.none() | st.integers(-(2**63), 2**63 - 1) | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)
    )
)
def test_any_description_is_a_shard_or_an_error(about_fields: object) -> None:
    body = pack({"about": about_fields, "tree": about_fields, "names": about_fields, "tensors": about_fields})
    whole = bytearray(shard.HEAD.pack(shard.MAGIC, len(body)) + body + bytes(128))
    try:
        decode(shard.read(whole, len(whole)).tree, [])
    except EncodingError:
        return
