"""Every kind that a seam may find has a runbook, and what it absorbs are checks that exist."""

import subprocess
import sys
from pathlib import Path

from holdfast import seams
from holdfast.catalog.seam_kinds import absorbs, kind, kinds
from holdfast.fleet.api.post_mortem.text import runbook_lines
from holdfast.fleet.decisions.guards import SILENT
from holdfast.node import checks

ROOT = Path(__file__).parents[2]


def test_every_kind_of_every_seam_has_its_runbook_and_no_other_does() -> None:
    unexplained = {"job.slowdown", "job.stopped"}  # of no seam: what is left when none explains it
    assert {one for seam in seams.ALL for one in seam.kinds} | unexplained == set(kinds())
    for one in kinds().values():
        assert (
            one.title and one.teams and one.shows and one.alike and one.confirm and one.act and one.leave and one.over
        )


def test_what_is_absorbed_is_a_check() -> None:
    known = {check.name for check in checks.ALL} | {SILENT}
    assert {check for one in kinds().values() for check in one.absorbs} <= known
    assert absorbs("cooling.flow_low", ["gpu.temperature"]) and not absorbs("cooling.flow_low", ["gpu.xid"])
    assert not absorbs("cooling.fan", ["gpu.temperature"]), "the node itself is the cause"


def test_the_pages_are_what_the_catalog_says() -> None:
    script = ROOT / "scripts" / "generate_runbooks.py"
    reported = subprocess.run([sys.executable, str(script), "--check"], capture_output=True, text=True)
    assert reported.returncode == 0, reported.stdout


def test_an_incident_fills_the_queries_in() -> None:
    found = {
        "subject": "cdu/c2",
        "cause": "cooling.flow_low",
        "opened": 5.0,
        "evidence": ["n1", "n2"],
        "account": {"victims": ["node/n1"], "losses": [{"subject": "job/llama"}], "since": 4.0},
    }
    text = "\n".join(runbook_lines(found))
    assert 'subject=~"node/(n1|n2)/gpu/.*"' in text and "n[1-2]" in text and "llama" in text
    for name in ("<cause>", "<nodes", "<jobs>", "<name>"):
        assert name not in text
    assert kind("never.heard_of").title == "never.heard_of"
