"""Prometheus text as dcgm-exporter writes it."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.formats.dcgm.exporter import ExporterSample, gpu_of, is_blank, parse


def test_labels_with_blanks_escapes_and_commas_are_read() -> None:
    line = 'A{gpu="0", UUID="GPU-1",modelName="NVIDIA H100, 80GB \\"SXM\\"",path="a\\\\nb"} 1.5e+03 1700000000000'
    assert list(parse(line)) == [
        ExporterSample(
            "A", {"gpu": "0", "UUID": "GPU-1", "modelName": 'NVIDIA H100, 80GB "SXM"', "path": "a\\nb"}, 1500.0
        )
    ]


def test_comments_and_rubbish_are_passed_over() -> None:
    assert list(parse("# HELP A b\n# TYPE A gauge\n\nA{ 3\nA{} x\nA 1_0\nB 2\n")) == [ExporterSample("B", {}, 2.0)]


@pytest.mark.parametrize(
    "value", ["9223372036854775794", "2147483632", "2147483635", "140737488355328", "140737488355330.0", "NaN", "+Inf"]
)
def test_a_blank_is_absence(value: str) -> None:
    assert [sample.value for sample in parse(f'A{{gpu="0"}} {value}')] == [None]


@pytest.mark.parametrize("value", [0.0, 2147483631.0, 2147483648.0, 140737488355344.0, 1.5e18, -1.0])
def test_large_counters_are_not_blank(value: float) -> None:
    assert not is_blank(value)


def test_only_whole_gpus_count() -> None:
    assert gpu_of(ExporterSample("A", {"gpu": "7"}, 1.0)) == 7
    assert gpu_of(ExporterSample("A", {"gpu": "7", "GPU_I_ID": "3"}, 1.0)) is None
    assert gpu_of(ExporterSample("A", {"nvswitch": "0"}, 1.0)) is None
    assert gpu_of(ExporterSample("A", {"gpu": "²"}, 1.0)) is None


@given(st.text() | st.text(st.sampled_from('A{}="\\,1e. \n#'), max_size=200))
def test_arbitrary_text_never_raises(text: str) -> None:
    for sample in parse(text):
        gpu_of(sample)
        assert sample.value is None or math.isfinite(sample.value)
