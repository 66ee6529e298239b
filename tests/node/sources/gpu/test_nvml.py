"""Asking GPUs: what is answered, what is refused for good, what is refused today; and no driver at all."""

import ctypes
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pynvml
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.model.signal import Value
from holdfast.node.sources.gpu.nvml import NvmlSlowSource, NvmlSource
from holdfast.node.sources.gpu.nvml_answers import (
    ASK_AGAIN_SECONDS,
    Answers,
    Ask,
    GpuLostError,
    Interview,
    either,
    field_number,
)
from holdfast.node.sources.gpu.nvml_links import bit_error_rate
from holdfast.node.sources.gpu.nvml_session import NvmlDevice

GPU = "node/n1/gpu/0"


def failing(code: int) -> Any:
    def call(handle: Any) -> Sequence[Value]:
        raise pynvml.NVMLError(code)

    return call


def asked(code: int, device: NvmlDevice | None = None) -> Answers:
    answers = Answers(GPU)
    Interview().ask(device or NvmlDevice(GPU, 0, handle=1), [Ask(("a", "b"), failing(code))], answers, 0.0)
    return answers


def test_not_supported_is_absence_and_never_zero() -> None:
    answers = asked(pynvml.NVML_ERROR_NOT_SUPPORTED)
    assert answers.signals == []
    assert answers.absent == {(GPU, name): "not supported by this GPU/driver" for name in "ab"}


def test_an_old_driver_without_the_function_reads_the_same() -> None:
    assert asked(pynvml.NVML_ERROR_FUNCTION_NOT_FOUND).absent[(GPU, "a")] == "not supported by this GPU/driver"


def test_mig_is_named_as_the_likely_cause() -> None:
    mig = NvmlDevice(GPU, 0, handle=1, mig=True)
    assert "MIG" in asked(pynvml.NVML_ERROR_NOT_SUPPORTED, mig).absent[(GPU, "a")]


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (pynvml.NVML_ERROR_NO_PERMISSION, "permission denied"),
        (pynvml.NVML_ERROR_TIMEOUT, "in time"),
        (pynvml.NVML_ERROR_UNKNOWN, "Unknown Error"),
    ],
)
def test_other_trouble_is_reported_in_words(code: int, words: str) -> None:
    assert words in asked(code).absent[(GPU, "a")]


def test_a_gpu_that_needs_a_reset_is_noticed() -> None:
    assert asked(pynvml.NVML_ERROR_RESET_REQUIRED).reset_required


def test_a_lost_gpu_ends_its_interview() -> None:
    with pytest.raises(GpuLostError):
        asked(pynvml.NVML_ERROR_GPU_IS_LOST)


def test_what_is_not_supported_is_asked_again_only_rarely() -> None:
    calls = []

    def call(handle: Any) -> Sequence[Value]:
        calls.append(handle)
        raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)

    interview = Interview()
    for now in (0.0, 10.0, ASK_AGAIN_SECONDS - 1, ASK_AGAIN_SECONDS + 1):
        interview.ask(NvmlDevice(GPU, 0, handle=1), [Ask(("a",), call)], Answers(GPU), now)
    assert len(calls) == 2


def test_a_clock_set_back_does_not_silence_a_question_for_ever() -> None:
    interview = Interview()
    interview.ask(
        NvmlDevice(GPU, 0, handle=1), [Ask(("a",), failing(pynvml.NVML_ERROR_NOT_SUPPORTED))], Answers(GPU), 1e9
    )
    assert interview.refused(NvmlDevice(GPU, 0), "a", 1e9 + 1)
    assert not interview.refused(NvmlDevice(GPU, 0), "a", 5.0)


def test_trouble_of_today_is_asked_again_at_once() -> None:
    interview = Interview()
    device = NvmlDevice(GPU, 0, handle=1)
    interview.ask(device, [Ask(("a",), failing(pynvml.NVML_ERROR_UNKNOWN))], Answers(GPU), 0.0)
    answers = Answers(GPU)
    interview.ask(device, [Ask(("a",), lambda handle: (7.0,))], answers, 1.0)
    assert [signal.value for signal in answers.signals] == [7.0]


def test_the_older_call_answers_where_the_newer_is_unknown() -> None:
    call = either(failing(pynvml.NVML_ERROR_FUNCTION_NOT_FOUND), lambda handle: (41.0,))
    assert call(None) == (41.0,)


def test_the_older_call_is_no_way_around_a_lost_gpu() -> None:
    call = either(failing(pynvml.NVML_ERROR_GPU_IS_LOST), lambda handle: (41.0,))
    with pytest.raises(pynvml.NVMLError):
        call(None)


def field(kind: int, **members: float) -> Any:
    value = pynvml.c_nvmlFieldValue_t()
    value.valueType = kind
    for name, number in members.items():
        setattr(value.value, name, number)
    return value


def test_fields_are_read_by_their_type_tag() -> None:
    assert field_number(field(pynvml.NVML_VALUE_TYPE_UNSIGNED_INT, uiVal=7)) == 7
    assert field_number(field(pynvml.NVML_VALUE_TYPE_SIGNED_INT, siVal=-2), signed=True) == -2
    assert field_number(field(pynvml.NVML_VALUE_TYPE_UNSIGNED_LONG_LONG, ullVal=2**40)) == 2**40


def test_a_negative_margin_handed_out_as_unsigned_is_negative() -> None:
    assert field_number(field(pynvml.NVML_VALUE_TYPE_UNSIGNED_INT, uiVal=2**32 - 2), signed=True) == -2


@given(st.integers(0, 2**31 - 1), st.integers(0, 2**64 - 1))
def test_any_type_tag_gives_a_number(kind: int, bits: int) -> None:
    assert isinstance(field_number(field(kind, ullVal=ctypes.c_ulonglong(bits).value)), float)


def test_bit_error_rates_unpack_mantissa_and_exponent() -> None:
    assert bit_error_rate(4 << 8 | 9) == pytest.approx(4e-9)
    assert bit_error_rate(15 << 8 | 255) < 1e-250


def test_a_library_that_is_not_there_blinds_with_its_path(tmp_path: Path) -> None:
    for source in (NvmlSource("n1", str(tmp_path / "none.so")), NvmlSlowSource("n1", str(tmp_path / "none.so"))):
        reading = source.read(0.0)
        assert "none.so cannot be loaded" in reading.blind
        assert not reading.signals
    assert NvmlSlowSource("n1", str(tmp_path / "none.so")).processes() is None


def test_without_a_driver_the_reason_names_the_library() -> None:
    """In a process of its own: a library once loaded stays loaded."""
    script = (
        "from holdfast.node.sources.gpu.nvml import NvmlSource as S; s = S('n1'); s.read(0.0); print(s.read(1.0).blind)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    if not done.stdout.strip():
        pytest.skip("this machine has an NVIDIA driver")
    assert done.stdout.strip() == "the NVIDIA driver library (libnvidia-ml.so.1) was not found"
