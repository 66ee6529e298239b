"""The vendor's diagnostic belongs to the suite where it is installed or asked for; elsewhere a pass says it is not."""

from dataclasses import replace
from pathlib import Path

from holdfast.model.health import Health
from holdfast.model.settings import CheckSettings, Roots, Settings
from holdfast.model.verdict import Row, Verdict
from holdfast.node.agent.assemble import questions
from holdfast.node.agent.suite import coverage
from holdfast.node.checks import BY_NAME
from holdfast.node.checks.check import disabled

WITHOUT = Settings(node="n1", roots=Roots(dcgmi="/nowhere/dcgmi"))


def why_off(settings: Settings, stage: str = "bootstrap") -> str:
    return {question.check.name: question.off for question in questions(settings, stage)}["dcgm.diag"]


def test_without_its_tool_it_is_left_out_and_says_so() -> None:
    message = "/nowhere/dcgmi is not installed, and neither the configuration nor the manifest requests it"
    assert why_off(WITHOUT) == message
    asked = [question for question in questions(WITHOUT, "bootstrap") if not question.check.name.startswith("probe.")]
    assert [question.check.name for question in asked if question.off] == ["dcgm.diag"]


def test_where_it_is_installed_it_is_asked(tmp_path: Path) -> None:
    tool = tmp_path / "dcgmi"
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    assert not why_off(replace(WITHOUT, roots=Roots(dcgmi=str(tool))))


def test_who_asks_for_it_gets_unknown_and_not_silence(tmp_path: Path) -> None:
    """A node that lost its DCGM must not pass for that."""
    assert not why_off(replace(WITHOUT, checks={"dcgm.diag": CheckSettings()}))
    assert not why_off(replace(WITHOUT, stages={"bootstrap": ("dcgm.diag", "gpu.xid")}))
    manifest = tmp_path / "manifest.toml"
    manifest.write_text('[expect.node]\ndcgm_version = "4.2.3"\n')
    assert not why_off(replace(WITHOUT, agent=replace(WITHOUT.agent, manifest=str(manifest))))


def test_one_switched_off_says_who_did() -> None:
    off = replace(WITHOUT, checks={"dcgm.diag": CheckSettings(enabled=False)})
    assert why_off(off) == "switched off in the configuration"


def test_a_pass_reports_what_it_was_not_asked() -> None:
    passed = Verdict(check="gpu.xid", rows=(Row("node/n1", Health.PASS),))
    assert coverage([passed]) == "1 checks"
    left = disabled(BY_NAME["dcgm.diag"], "dcgmi is not installed")
    assert coverage([passed, left]) == "1 checks; not run: dcgm.diag (dcgmi is not installed)"
