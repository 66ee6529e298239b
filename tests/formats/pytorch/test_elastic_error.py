"""torchrun's error file gives the traceback it holds, and nothing else is taken for one."""

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.formats.pytorch import elastic_error

STACK = "Traceback (most recent call last):\n  File \"/a/t.py\", line 3, in main\n    f()\nKeyError: 'lr'\n"


def made(message: str, stack: str) -> bytes:
    answer = {"message": message, "extraInfo": {"py_callstack": stack, "timestamp": "1"}}
    return json.dumps({"message": answer}).encode()


def test_the_traceback_comes_out_as_it_was_printed() -> None:
    raw = made("KeyError: 'lr'", STACK)
    assert elastic_error.is_one(raw)
    assert elastic_error.as_text(raw).decode() == STACK


def test_a_message_that_the_stack_does_not_hold_is_added() -> None:
    assert elastic_error.as_text(made("ValueError: x", STACK)).endswith(b"KeyError: 'lr'\nValueError: x\n")


def test_other_json_is_none() -> None:
    assert not elastic_error.is_one(b'{"message": "hello"}')
    with pytest.raises(elastic_error.NotAnErrorFile):
        elastic_error.as_text(b'{"message": "py_callstack"}')


@given(st.binary())
def test_no_bytes_break_it(raw: bytes) -> None:
    with contextlib.suppress(elastic_error.NotAnErrorFile):
        elastic_error.as_text(raw)
