"""Every source that cannot be read has a fix: its own entry or the default."""

from holdfast.catalog.fixes import fix_for

DEFAULT = fix_for("a new source", "a reason that no entry names")


def test_a_source_without_an_entry_gets_the_default() -> None:
    assert "holdfast check --json" in DEFAULT


def test_a_source_with_an_entry_gets_its_own_fix() -> None:
    assert "NVIDIA driver" in fix_for("nvml", "blind")
    assert fix_for("kmsg", "blind") != DEFAULT


def test_the_text_of_a_reason_goes_before_its_source() -> None:
    assert "root" in fix_for("kmsg", "/dev/kmsg: Permission denied")
    assert "hangs" in fix_for("nvml", "the driver has not answered for 40 s")
