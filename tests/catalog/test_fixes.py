"""Every cause of blindness has something to do about it."""

from holdfast.catalog.fixes import fix_for
from holdfast.node.agent.assemble import SOURCES

GENERAL = fix_for("", "a reason nobody foresaw")


def test_every_reason_has_a_fix() -> None:
    assert GENERAL


def test_sources_that_can_be_blind_have_a_fix_of_their_own() -> None:
    for source in SOURCES - {"host", "repairs", "fabric_manager"}:  # these read nothing that can be installed
        assert fix_for(source, "blind") != GENERAL, source


def test_the_words_of_a_reason_go_before_its_source() -> None:
    assert "root" in fix_for("kmsg", "/dev/kmsg: Permission denied")
    assert "hangs" in fix_for("nvml", "the driver has not answered for 40 s")
