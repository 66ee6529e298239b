"""What lines say of progress, and how long a run may be silent."""

from hypothesis import given
from hypothesis import strategies as st

from holdfast.supervisor.progress import JobProgress, ProgressSilence, in_line


def test_steps_and_saves_of_trainers() -> None:
    assert in_line(b"step 12 loss 1.25 time 31.0 ms\n") == JobProgress(step=12)
    assert in_line(
        b" iteration      120/  1000 | elapsed time per iteration (ms): 512.1 | lm loss: 2.1E+00 |\n"
    ) == JobProgress(step=120)
    assert in_line(b"saving checkpoint at step 20 to /c/step_20.pt\n") == JobProgress(save="begin")
    assert in_line(b"saved checkpoint at step 20 to /c/step_20.pt\n") == JobProgress(save="end")
    assert in_line(b"hello\n") is None


@given(st.binary(max_size=300))
def test_any_bytes_are_taken(line: bytes) -> None:
    in_line(line)


def test_silence_is_measured_by_the_runs_own_longest_gap() -> None:
    silence = ProgressSilence(factor=5.0, floor_seconds=10.0)
    assert not silence.is_too_long(1e9)  # nothing is known of a run without progress
    for now in (0.0, 1.0, 2.0, 9.0, 10.0):  # one gap of seven seconds: a save
        silence.progress(now)
    assert silence.usual == 1.0
    assert silence.limit == 35.0
    assert not silence.is_too_long(45.0)
    assert silence.is_too_long(45.1)


def test_no_silence_is_too_long_below_the_floor() -> None:
    silence = ProgressSilence(factor=5.0, floor_seconds=60.0)
    for now in (0.0, 0.1, 0.2, 0.3):
        silence.progress(now)
    assert not silence.is_too_long(60.2)
    assert silence.is_too_long(60.4)
