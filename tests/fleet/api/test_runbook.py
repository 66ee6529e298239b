"""The runbook of one incident: its own names stand in the steps."""

from holdfast.fleet.api import runbook
from holdfast.model.incident import Incident


def test_the_names_of_the_incident_are_filled_in_and_braces_of_queries_stay() -> None:
    found = Incident(
        id="cdu/c2@1", opened=5.0, subject="cdu/c2", cause="cooling.flow_low", evidence=("n001", "n002", "n003")
    )
    book = runbook.of(found)
    assert book.title == "coolant flow is low"
    assert any("standby pump or valve of cdu/c2" in step for step in book.act)
    assert "n[001-003]" in book.leave
    assert any('{subject=~"node/(n001|n002|n003)/gpu/.*"}' in step for step in book.confirm)
    assert not [text for text in (*book.act, *book.confirm, book.leave, book.over) if "<" in text]


def test_nodes_that_fail_together_have_the_runbook_of_what_they_share() -> None:
    book = runbook.of(Incident(id="leaf/l1@1", opened=5.0, subject="leaf/l1", cause="fabric.port_down"))
    assert book.kind == "fleet.shared_cause" and "one by one" in book.leave


def test_a_silent_node_has_the_runbook_of_silence() -> None:
    book = runbook.of(Incident(id="node/n7@1", opened=5.0, subject="node/n7", cause="agent.silent"))
    assert book.kind == "agent.silent" and any("ssh n7 " in one for one in book.commands)


def test_a_kind_that_no_one_described_has_no_steps() -> None:
    book = runbook.of(Incident(id="node/n7@1", opened=5.0, subject="node/n7", cause="site.own"))
    assert (book.title, book.act, book.confirm, book.leave) == ("site.own", (), (), "")
