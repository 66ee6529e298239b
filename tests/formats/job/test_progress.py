"""Messages of progress: whatever the bytes are, an answer or one sentence; steps counted together keep their sums."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.formats.job.progress import (
    LARGEST_MESSAGE,
    Ended,
    Hello,
    KeeperProgress,
    ProgressError,
    ProgressStep,
    Steps,
    decode,
    encode,
)
from holdfast.formats.job.windows import WindowTally, windows
from holdfast.model.wire.keeper import MOST_STEPS, HeldStep, Holdings

HELLO = Hello(job="llama", rank=1, world=4, session="s1", began=100.0, node="n1", gpu=1)


def row(step: int, at: float, compute: float = 0.6, **more: object) -> ProgressStep:
    return ProgressStep(step, at, 1.0, 0.1, compute, 0.2, 0.1, **more)  # type: ignore[arg-type]


def test_what_is_reported_is_received_the_same():
    holds = Holdings(node="n1", ranks=(0, 1), world=4, replicas=2, steps=(HeldStep(step=3, own=(0, 1), stored=(0,)),))
    reported = (KeeperProgress("llama", 7, holds), KeeperProgress("llama"))
    for message in (*reported, HELLO, Steps([row(1, 101.0, loss=2.5, links={"pp:0-1": 0.1})], True, 7, 2), Ended(5.0)):
        assert decode(encode(message)) == message


@given(st.binary(max_size=300))
def test_any_bytes_are_a_message_or_one_sentence(text):
    try:
        decode(text)
    except ProgressError as error:
        assert "\n" not in str(error)


_values = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.lists(st.integers()))


@given(st.sampled_from(["hello", "steps", "ended", "keeper", "other"]), st.dictionaries(st.text(max_size=8), _values))
def test_any_document_is_a_message_or_one_sentence(tag, fields):
    known = {"job": "j", "rank": 0, "world": 1, "session": "s", "began": 0.0, "rows": []}
    try:
        decode(json.dumps({**known, **fields, "type": tag}).encode())
    except ProgressError as error:
        assert "\n" not in str(error)


@pytest.mark.parametrize(
    "change",
    [
        {"rank": 4},
        {"rank": -1},
        {"world": 2_000_000},
        {"job": ""},
        {"job": "a/b"},
        {"job": "x" * 200},
        {"job": "a\x1b[2J"},
        {"gpu": 5000},
        {"began": float("inf")},
    ],
)
def test_a_hello_out_of_bounds_is_refused(change):
    reported = {**json.loads(encode(HELLO)), **change}
    with pytest.raises(ProgressError):
        decode(json.dumps(reported).encode())


@pytest.mark.parametrize(
    "bad",
    [ProgressStep(-1, 1, 1, 0, 1, 0, 0), ProgressStep(1, 1, -1, 0, 1, 0, 0), ProgressStep(1, 1, 1, 0, 1e9, 0, 0)],
    ids=str,
)
def test_a_step_out_of_bounds_is_refused(bad):
    with pytest.raises(ProgressError):
        decode(encode(Steps([bad])))


def test_a_message_that_is_too_large_is_not_even_read():
    with pytest.raises(ProgressError, match=str(LARGEST_MESSAGE)):
        decode(b" " * (LARGEST_MESSAGE + 1))


def test_steps_are_counted_together_and_sums_are_kept():
    tally = WindowTally(HELLO, "uid-7")
    tally.add(
        Steps([row(1, 101.0, 0.5, tokens=8), row(2, 102.0, 0.9, tokens=8), row(3, 103.0, 0.6, loss=1.5)], True, 2)
    )
    window = tally.cut(200.0)
    assert window is not None
    assert (window.step, window.steps, window.seconds, window.tokens, window.loss) == (3, 3, 3.0, 16.0, 1.5)
    assert window.own_seconds == 0.6 and window.compute_seconds == pytest.approx(2.0)
    assert (window.at, window.saved_step, window.owner, window.split) == (103.0, 2, "uid-7", True)
    assert tally.cut(210.0) is None  # nothing new


def test_a_step_from_the_future_ended_when_it_was_reported():
    tally = WindowTally(HELLO, "uid-7")
    tally.add(Steps([row(1, 9e9)]))
    window = tally.cut(200.0)
    assert window is not None and window.at == 200.0


def test_a_file_is_cut_as_an_agent_would_have():
    rows = [row(number, 100.0 + number) for number in range(1, 31)]
    found = windows([HELLO, Steps(rows, True, 5), Ended(131.0)], "uid-7")
    assert sum(one.steps for one in found) == 30 and len(found) >= 3
    assert found[-1].ended == "closed" and {one.ended for one in found[:-1]} == {""}


def test_a_process_that_came_again_left_the_first_life_without_a_word():
    again = Hello(job="llama", rank=1, world=4, session="s2", began=300.0)
    found = windows([HELLO, Steps([row(1, 101.0)]), again, Steps([row(1, 301.0)])], "uid-7")
    assert [(one.session, one.ended) for one in found] == [("s1", "gone"), ("s2", "")]


_ranks = st.lists(st.integers(-1, 300), max_size=3)
_steps = st.lists(st.fixed_dictionaries({"step": st.integers(-2, 9), "own": _ranks, "stored": _ranks}), max_size=8)


@given(_steps, st.dictionaries(st.sampled_from(["ranks", "world", "troubles", "node", "used_bytes"]), _values))
def test_whatever_a_keeper_says_it_holds_is_bounded_or_refused(steps, fields):
    holds = {"node": "n1", "steps": steps, **fields}
    try:
        message = decode(json.dumps({"type": "keeper", "job": "j", "holds": holds}).encode())
    except ProgressError as error:
        assert "\n" not in str(error)
    else:
        assert isinstance(message, KeeperProgress) and message.holds is not None
        assert len(message.holds.steps) <= MOST_STEPS and all(one.step >= 0 for one in message.holds.steps)


def test_what_an_older_keeper_says_is_received():
    assert decode(b'{"type":"keeper","job":"llama","unsaved_step":3}') == KeeperProgress("llama", 3)
