"""The Xid and SXid tables as facts: complete, with usable actions, and with their rules."""

import pytest

from holdfast.catalog import sxid, xid

ACTIONS = {
    "ignore", "monitor", "restart_app", "reset_gpu", "restart_node", "restart_vm", "check_hardware", "contact_support",
    "update_software", "check_uvm_setting", xid.DECODE, xid.FOLLOW_TEXT,
}  # fmt: skip


def test_every_code_from_1_to_172_is_listed_with_an_action_and_a_meaning() -> None:
    facts = xid.all_codes()
    assert [fact.code for fact in facts] == list(range(1, 173))
    assert all(fact.action in ACTIONS and fact.meaning and fact.mnemonic for fact in facts)


@pytest.mark.parametrize(
    ("code", "action"),
    [(13, "restart_app"), (43, "ignore"), (48, "reset_gpu"), (79, "restart_node"), (119, "reset_gpu")],
)
def test_well_known_codes_have_the_published_action(code: int, action: str) -> None:
    assert xid.find(code).action == action


def test_the_codes_that_never_quarantine_alone() -> None:
    assert {fact.code for fact in xid.all_codes() if fact.not_alone} == {13, 31, 43, 45, 63, 68, 92, 94, 109}


def test_rules_between_codes() -> None:
    assert xid.find(45).cascade
    assert (xid.find(171).details, xid.find(172).details) == (48, 48)


def test_a_code_no_one_lists_asks_for_support_and_says_it_is_unknown() -> None:
    fact = xid.find(9999)
    assert (fact.action, fact.known) == ("contact_support", False)


@pytest.mark.parametrize(
    ("code", "unit", "intrinfo", "status", "action"),
    [
        (145, "RLW_SRC_TRACK", 0b0000000111, 0x1, "reset_gpu"),  # layout of r575
        (145, "RLW_SRC_TRACK", 0b0011100010, 0x1, "reset_gpu"),  # layout before r575
        (145, "RLW_SRC_TRACK", 0b0011100010, 0x8, "follow_xid_154"),
        (144, "SAW_MVB", 0b0000100001, 0x1, "ignore"),
        (144, "SAW_MVB", 0b0000100001, 0x3, "reset_gpu"),  # two bits at once: the graver
        (149, "NETIR_LINK_EVT", 0b100110 << 20 | 0b0111000110, 0, "ignore"),
        (149, "NETIR_LINK_DOWN", 0b000100 << 20 | 0b0010001, 0, "reset_gpu"),
        (149, "NETIR_MFDE_EVENT", 0b1001000110, 3, "ignore"),
        (149, "NO_SUCH_UNIT", 0, 0, ""),
    ],
)
def test_nvlink5_sub_codes_in_both_driver_layouts(
    code: int, unit: str, intrinfo: int, status: int, action: str
) -> None:
    assert xid.nvlink_action(code, unit, intrinfo, status) == action


@pytest.mark.parametrize(
    ("number", "words", "action"),
    [
        (0, "None", "ignore"),
        (1, "PF FLR", "reset_gpu"),
        (2, "OS Reboot", "restart_node"),
        (None, "Drain and Reset", "drain_and_reset"),
        (None, "Drain P2P", "drain_p2p"),
        (None, "GPU Reset Required", "reset_gpu"),
        (9, "Something New", "contact_support"),
    ],
)
def test_recovery_actions_of_xid_154(number: int | None, words: str, action: str) -> None:
    assert xid.recovery_action(number, words) == action


def test_sxid_classes() -> None:
    assert sxid.find(20034).kind == sxid.POTENTIALLY_FATAL
    assert sxid.find(22003).kind == sxid.FATAL
    assert sxid.find(12028).kind == sxid.NONFATAL
    assert sxid.find(99999).kind == sxid.UNKNOWN
    assert len(sxid.all_codes()) >= 90
