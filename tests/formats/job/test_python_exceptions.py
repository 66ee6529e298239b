"""The end of a traceback: which class, raised where, in which library, after which other exception."""

import pytest

from holdfast.formats.job import python_exceptions
from holdfast.formats.job.line import decode

FRAMES = (
    '  File "/usr/lib/python3.11/runpy.py", line 196, in _run_module_as_main',
    "    return _run_code(code, main_globals, None,",
    '  File "/home/me/train.py", line 12, in main',
    "    assert batch % world == 0",
)
LIBRARY = (
    '  File "/opt/env/lib/python3.11/site-packages/fastlink/api.py", line 7, in register',
    "    self.agent.add(tensor)",
    "    ^^^^^^^^^^^^^^^^^^^^^^",
)


def _find(*lines: str) -> python_exceptions.Raised | None:
    *above, last = [decode(one.encode()) for one in lines]
    return python_exceptions.find(last, above)


def test_a_class_in_small_letters_counts_where_a_module_stands_before_it() -> None:
    raised = _find(*LIBRARY, "fastlink._core.linkBackendError: LINK_DOWN")
    assert raised is not None and (raised.type, raised.message) == ("linkBackendError", "LINK_DOWN")
    assert _find(*LIBRARY, "linkBackendError: LINK_DOWN") is None


def test_the_source_line_is_kept_without_its_marks() -> None:
    raised, deeper = _find(*FRAMES, "AssertionError"), _find(*FRAMES, *LIBRARY, "ValueError: x")
    assert raised is not None and raised.code == "assert batch % world == 0"
    assert deeper is not None and deeper.code == "self.agent.add(tensor)"


def test_the_library_is_that_of_the_innermost_frame() -> None:
    inside, own = _find(*FRAMES, *LIBRARY, "ValueError: x"), _find(*FRAMES, "ValueError: x")
    assert inside is not None and (inside.library, inside.where) == ("fastlink", "train.py:12 in main")
    assert own is not None and own.library == ""


def test_a_frame_of_python_itself_is_not_the_users() -> None:
    raised = _find(*FRAMES[2:], '  File "/usr/lib/python3.11/threading.py", line 1, in run', "ValueError: x")
    assert raised is not None and raised.where == "train.py:12 in main"


@pytest.mark.parametrize(
    ("between", "chained"),
    [
        ("During handling of the above exception, another exception occurred:", "handling"),
        ("The above exception was the direct cause of the following exception:", "cause"),
        ("something else", ""),
    ],
)
def test_how_it_follows_from_another_is_kept(between: str, chained: str) -> None:
    raised = _find(*FRAMES, "KeyError: 'a'", between, *LIBRARY, "RuntimeError: b")
    assert raised is not None and raised.chained == chained


def test_what_python_prints_and_goes_on_after_is_ignored() -> None:
    lines = [decode(one.encode()) for one in ("Exception ignored in: <function A.__del__>", *FRAMES, "TypeError: x")]
    assert python_exceptions.is_ignored(lines[-1], lines[:-1])
    assert not python_exceptions.is_ignored(lines[-1], lines[1:-1])
    assert python_exceptions.find_by_place(lines) is None


def test_a_class_that_does_not_call_itself_an_error_is_known_by_its_place() -> None:
    lines = [decode(one.encode()) for one in (*FRAMES, "pool.WorkerLost: 3 of 4", "bye")]
    found = python_exceptions.find_by_place(lines)
    assert found is not None and (found[1].type, found[1].message) == ("WorkerLost", "3 of 4")
    assert python_exceptions.find_by_place([decode(b"Loading"), decode(b"Ready: yes"), decode(b"Done: 3")]) is None


RICH = (
    "│ /home/me/train.py:31 in main                                        │",
    "│ ❱ 31 │   │   model.load(path)                                         │",
    "│ /opt/env/lib/python3.11/site-packages/fastlink/api.py:7 in register │",
    "│ ❱  7 │   self.agent.add(tensor)                                       │",
    "╰─────────────────────────────────────────────────────────────────────╯",
)


def test_the_box_of_rich_has_frames_and_code_too() -> None:
    raised = _find(*RICH, "ValueError: x")
    assert raised is not None and raised.where == "train.py:31 in main"
    assert (raised.code, raised.library) == ("self.agent.add(tensor)", "fastlink")


def test_a_path_of_windows_is_cut_to_its_file() -> None:
    frames = (
        '  File "C:\\work\\train.py", line 4, in main',
        '  File "C:\\env\\Lib\\site-packages\\fastlink\\api.py", line 7, in add',
    )
    raised = _find(*frames, "ValueError: x")
    assert raised is not None and (raised.where, raised.library) == ("train.py:4 in main", "fastlink")
