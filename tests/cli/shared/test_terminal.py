"""What others wrote cannot steer the terminal of whoever reads it."""

import io
import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.cli.shared.terminal import REPLACEMENT, safe

HOSTILE = [
    "\x1b]0;title\x07",
    "\x1b[2J",
    "\x1b[1A\x1b[2K",
    "\x9b31m",
    "\u202egnp.exe",
    "\u061c",  # Arabic letter mark
    "\u2028",
    "\u2029",
    "\u200b",
    "\ufeff",
    "\U000e0041",  # a tag: invisible text
    "\x08\x08",
    "\x1bPq\x1b\\",
    "\x7f",
    "\x00",
]


class Raw(io.BytesIO):
    terminal = False

    def isatty(self) -> bool:
        return self.terminal


def written(text: str, terminal: bool = False, name: str = "stdout") -> str:
    raw = Raw()
    raw.terminal = terminal
    original = io.TextIOWrapper(raw, "utf-8")  # kept, as sys.__stdout__ is: its end would close the buffer
    stream = safe(original, name)
    stream.write(text)
    stream.flush()
    return raw.getvalue().decode()


@pytest.mark.parametrize("terminal", [False, True])
@pytest.mark.parametrize("text", HOSTILE)
def test_no_sequence_of_others_reaches_standard_output(text: str, terminal: bool) -> None:
    found = written(f"job {text} failed\n", terminal)
    assert REPLACEMENT in found
    assert all(letter.isprintable() or letter in f"\n{REPLACEMENT}" for letter in found)


@given(st.text(st.characters(categories=("Cc", "Cf", "Zl", "Zp"), exclude_characters="\t\n"), min_size=1))
def test_nothing_invisible_is_printed(text: str) -> None:
    assert set(written(text)) <= {REPLACEMENT}


def test_colours_pass_to_a_terminal_alone() -> None:
    assert written("\x1b[1;31mfail\x1b[0m", terminal=True) == "\x1b[1;31mfail\x1b[0m"
    assert "\x1b" not in written("\x1b[1;31mfail\x1b[0m")


def test_a_progress_bar_moves_the_cursor_on_standard_error_alone() -> None:
    bar = "\x1b[?25l\r\x1b[2K\x1b[1A"
    assert written(bar, terminal=True, name="stderr") == bar
    assert "\x1b" not in written(bar, terminal=True)


def test_a_line_of_windows_keeps_its_end_and_overwrites_nothing() -> None:
    assert written("one\r\ntwo\rthree\n") == "one\ntwothree\n"


@given(st.text())
def test_json_stays_json(text: str) -> None:
    document = written(json.dumps({"name": text.encode("utf-8", "replace").decode()}, ensure_ascii=False))
    assert isinstance(json.loads(document)["name"], str)


@given(st.text(st.characters(categories=("L", "N", "P", "S", "Zs"))))
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert written(text) == text


def test_a_file_with_such_a_name_in_a_real_terminal(tmp_path: Path) -> None:
    """End to end: the name of a folder, which the job chose, in the evidence of a diagnosis."""
    folder = tmp_path / "x\x1b]0;owned\x07\x1b[2Jy"
    folder.mkdir()
    (folder / "rank0.log").write_text("RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB\n")
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", "from holdfast.cli import main; main()", "diagnose", str(tmp_path)]
    with subprocess.Popen(command, stdout=theirs, stderr=subprocess.PIPE, env={**os.environ, "COLUMNS": "400"}):
        os.close(theirs)
        shown = b""
        try:
            while part := os.read(ours, 65_536):
                shown += part
        except OSError:  # the other end is closed
            pass
    os.close(ours)
    assert b"rank0.log" in shown
    assert b"\x1b]" not in shown and b"\x1b[2J" not in shown and b"\x07" not in shown
