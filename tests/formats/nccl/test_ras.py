"""NCCL's RAS: who is dead, who is behind, in both of its forms."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.formats.nccl.ras import Absent, Behind, NotRas, Status, parse

TEXT = """\
NCCL version 2.25.1 compiled with CUDA 12.8
Communicators... (0.01s)

Errors
======

DEAD
  1 job process is considered dead (unreachable via the RAS network)
    Process 77 on node 10.0.0.3 managing GPU 5

#0-0 (ab12cd34) INCOMPLETE
  Missing communicator data from 1 rank
    Process 77 on node 10.0.0.3 managing GPU 5

Warnings
========

#0-0 (ab12cd34) MISMATCH
  Communicator ranks have different collective operation counts
  14 ranks have launched up to operation 900
  1 rank has launched up to operation 899
  Rank 6 -- GPU 6 managed by process 61 on node 10.0.0.2
"""


def test_the_text_form() -> None:
    assert parse(TEXT) == Status((Absent("10.0.0.3", 77, None, True),), (Behind(6, "10.0.0.2", 899, 900),))


def test_the_json_form() -> None:
    ranks = [
        {"rank": i, "host": "n1", "collective_counts": {"AllReduce": 5 - (i == 2), "Broadcast": 1}} for i in range(4)
    ]
    missing = [{"rank": 4, "host": "n2", "pid": 9, "considered_dead": True}]
    answer = json.dumps({"communicators": [{"ranks": ranks, "missing_ranks": missing}]})
    assert parse(answer) == Status((Absent("n2", 9, 4, True),), (Behind(2, "n1", 5, 6),))


def test_a_job_in_which_all_is_well() -> None:
    assert parse("NCCL version 2.25.1 compiled with CUDA 12.8\nCommunicators... (0.00s)\n") == Status()


@pytest.mark.parametrize("answer", ["", "{", "{}", '{"communicators": [3]}', "HTTP/1.1 400 Bad Request"])
def test_other_answers_are_refused(answer: str) -> None:
    with pytest.raises(NotRas):
        parse(answer)


@given(st.text(max_size=400) | st.text(max_size=200).map(lambda text: TEXT[: len(text) * 3] + text))
def test_any_answer_is_read_or_refused(answer: str) -> None:
    try:
        parse(answer)
    except NotRas as why:
        assert str(why)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["ranks", "rank", "missing_ranks", "host", "pid", "collective_counts"]), inner
        )
    ),
)


@given(JSON)
def test_any_document_is_read_or_refused(inside: object) -> None:
    try:
        parse(json.dumps({"communicators": [inside]}))
    except NotRas as why:
        assert str(why)
