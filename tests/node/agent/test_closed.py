"""The mark by which the gate knows that the controller holds this node."""

from holdfast.node.agent.orders.closed import ClosedMark


def test_it_is_there_while_the_node_is_held_and_says_why(tmp_path):
    mark = ClosedMark(str(tmp_path / "verdict.json"))
    mark.set("quarantined: gpu.xid")
    assert (tmp_path / "verdict.closed").read_text() == "quarantined: gpu.xid\n"
    mark.set("testing: reset")
    assert (tmp_path / "verdict.closed").read_text() == "testing: reset\n"
    mark.set("")
    assert not (tmp_path / "verdict.closed").exists()


def test_a_mark_of_an_earlier_agent_goes_when_the_node_is_open(tmp_path):
    (tmp_path / "verdict.closed").write_text("old\n")
    ClosedMark(str(tmp_path / "verdict.json")).set("")
    assert not (tmp_path / "verdict.closed").exists()


def test_a_directory_that_is_gone_is_reported_and_survived(tmp_path, caplog):
    mark = ClosedMark(str(tmp_path / "gone" / "verdict.json"))
    mark.set("quarantined")
    assert "quarantined" in caplog.text
