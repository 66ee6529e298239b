"""A story for people: what belongs together is one line, and nothing that failed is left out."""

from typing import Any

from holdfast.cli.shared.node_history import PrintedLine, lines


def verdict(check: str, after: str, before: str = "", at: float = 1.0) -> dict[str, Any]:
    facts = {"check": check, "before": before, "after": after}
    return {"at": at, "kind": "verdict", "title": f"{check}: {before} -> {after}", "detail": "seen", "facts": facts}


def action(number: int, state: str, at: float) -> dict[str, Any]:
    facts = {"action": number, "state": state}
    return {"at": at, "kind": "action", "title": f"drain {state}", "detail": "why", "facts": facts}


def test_first_verdicts_are_one_line_that_names_what_did_not_pass() -> None:
    output = lines([verdict("a", "pass"), verdict("b", "unknown"), verdict("c", "pass", at=2.0), verdict("d", "fail")])
    assert output == [PrintedLine(1.0, "verdict", "4 checks: 2 pass, 1 unknown, 1 fail", "unknown: b; fail: d")]


def test_a_change_of_a_verdict_is_its_own_line() -> None:
    output = lines([verdict("a", "pass"), verdict("b", "pass"), verdict("a", "fail", "pass"), verdict("c", "pass")])
    assert [line.what for line in output] == ["2 checks: 2 pass", "a: pass -> fail", "c:  -> pass"]


def test_many_unknowns_are_named_up_to_a_number() -> None:
    [line] = lines([verdict(f"c{i}", "unknown") for i in range(9)])
    assert line.why.endswith("and 3 more")


def test_an_action_is_reported_when_it_ended_and_an_open_one_as_it_stands() -> None:
    output = lines([action(1, "proposed", 1), action(1, "claimed", 2), action(2, "proposed", 3), action(1, "done", 4)])
    assert [(line.at, line.what) for line in output] == [(3, "drain proposed"), (4, "drain done")]


def test_an_action_that_failed_and_was_tried_again_keeps_both() -> None:
    output = lines([action(1, "failed", 1), action(1, "claimed", 2), action(1, "done", 3)])
    assert [line.what for line in output] == ["drain failed", "drain done"]
