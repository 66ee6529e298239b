"""The clock source: the kernel's own word, or a file that stands in for it."""

from pathlib import Path

from holdfast.node.sources.host.clock import ClockSource


def test_the_kernel_is_asked_without_privilege() -> None:
    reading = ClockSource("n1").read(5.0)
    assert reading.blind == ""
    assert {signal.name for signal in reading.signals} == set(ClockSource.carries)


def test_a_file_stands_in_for_the_kernel(tmp_path: Path) -> None:
    file = tmp_path / "timex"
    file.write_text("status=0\noffset_seconds=0.5\nmax_error_seconds=1.5\n")
    reading = ClockSource("n1", timex=str(file)).read(5.0)
    assert [signal.value for signal in reading.signals] == [1.0, 0.5, 1.5]


def test_a_bad_or_missing_file_is_blindness_that_names_it(tmp_path: Path) -> None:
    file = tmp_path / "timex"
    assert str(file) in ClockSource("n1", timex=str(file)).read(5.0).blind
    file.write_bytes(b"\xff\xfe=1")
    assert str(file) in ClockSource("n1", timex=str(file)).read(5.0).blind
