"""Commands end, one way or the other, and never through a shell."""

import os
import select
import sys
from pathlib import Path

import pytest

from holdfast.runtime import process
from holdfast.runtime.errors import NoAnswer
from holdfast.runtime.process import find, run

from .conftest import TimeIsUp


def test_arguments_arrive_as_they_are() -> None:
    nasty = ["$(id)", "a b", "; rm -rf x", "*", "'\""]
    answer = run([sys.executable, "-c", "import sys; print(sys.argv[1:])", *nasty], {}, 30)
    assert (answer.code, answer.out) == (0, f"{nasty}\n")


def test_only_the_given_environment_is_seen() -> None:
    code = "import os; print(sorted(set(os.environ) - {'LC_CTYPE'}))"
    assert run([sys.executable, "-c", code], {"A": "1"}, 30).out == "['A']\n"


def test_a_child_left_behind_does_not_hold_us_and_does_not_live_on(tmp_path: Path, time_is_up: TimeIsUp) -> None:
    pid_file = tmp_path / "pid"
    time_is_up(lambda: pid_file.exists() and pid_file.read_text().endswith("\n"))
    with pytest.raises(NoAnswer) as caught:
        run(["/bin/sh", "-c", f"sleep 600 & echo $! > {pid_file}; wait"], dict(os.environ), 0.5)
    assert caught.value.retryable
    assert "did not end within 0.5 s" in str(caught.value)
    try:
        child = os.pidfd_open(int(pid_file.read_text()))
    except ProcessLookupError:
        return
    assert select.select([child], [], [], 30.0)[0], "the child was killed, and ends as soon as it is scheduled"
    os.close(child)


def test_what_is_not_wanted_any_more_is_ended_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_POLL_SECONDS", 0.01)
    asked = iter(("", "is not wanted any more"))
    with pytest.raises(NoAnswer, match="is not wanted any more"):
        run(["/bin/sleep", "600"], {}, 600, lambda: next(asked))


def test_what_cannot_be_run_is_reported_and_not_tried_again() -> None:
    for command in (["/nonexistent/command"], ["/bin/true", "a\0b"]):
        with pytest.raises(NoAnswer) as caught:
            run(command, {}, 1)
        assert not caught.value.retryable


def test_output_that_is_no_text_does_not_stop_us() -> None:
    assert run([sys.executable, "-c", r"import os; os.write(1, b'\xff\xfe')"], {}, 30).out == "\ufffd\ufffd"


@pytest.mark.parametrize("stream", [1, 2])
def test_endless_output_is_cut_off(stream: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A site's command that printed for ever took all memory of the controller until its timeout."""
    monkeypatch.setattr(process, "MOST_BYTES", 1 << 20)
    with pytest.raises(NoAnswer, match="printed more than 1 MB") as caught:
        run(["/bin/sh", "-c", f"exec yes >&{stream}"], dict(os.environ), 600)
    assert (caught.value.retryable, caught.value.not_begun) == (False, False)


def test_output_up_to_the_limit_is_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "MOST_BYTES", 300_000)
    code = "import os; os.write(1, b'o' * 150_000); os.write(2, b'e' * 150_000)"
    answer = run([sys.executable, "-c", code], {}, 600)
    assert (answer.out, answer.err) == ("o" * 150_000, "e" * 150_000)


def test_what_was_printed_before_the_time_was_up_is_kept(time_is_up: TimeIsUp, tmp_path: Path) -> None:
    printed = tmp_path / "printed"
    time_is_up(printed.exists)
    with pytest.raises(process.subprocess.TimeoutExpired) as caught:
        process.capture(["/bin/sh", "-c", f"echo begun; touch {printed}; exec sleep 600"], 60.0)
    assert caught.value.output == b"begun\n"


def test_a_process_that_closed_its_output_is_waited_for() -> None:
    assert run([sys.executable, "-c", "import os, time; os.close(1); os.close(2); os._exit(7)"], {}, 600).code == 7


def test_a_command_is_found_though_path_is_bare() -> None:
    assert find("sh", "") in ("/usr/bin/sh", "/usr/local/bin/sh")
    assert find("/any/where", "") == "/any/where"
    with pytest.raises(NoAnswer, match="no_such_command is not installed here"):
        find("no_such_command", "")
