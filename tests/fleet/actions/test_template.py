"""Placeholders are checked when they are read and filled without surprises."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.fleet.actions.template import check, fill, fill_all
from holdfast.model.lifecycle import Action, Verb

ACTION = Action(node="n1", verb=Verb.REBOOT, reason="two\nlines {node}", cause="gpu.xid", at=5.0)


def test_fills_and_leaves_braces_in_values_alone() -> None:
    assert (
        fill("{node} {verb} {cause} {key}: {reason}", ACTION) == "n1 reboot gpu.xid n1:reboot:5.000: two lines {node}"
    )
    assert fill("awk '{{print}}'", ACTION) == "awk '{print}'"


def test_fills_every_text_of_a_body_and_keeps_the_rest() -> None:
    body = {"a": ["{node}", 3, None, {"b": "{verb}"}], "c": True}
    assert fill_all(body, ACTION) == {"a": ["n1", 3, None, {"b": "reboot"}], "c": True}


@pytest.mark.parametrize(
    "text", ["{host}", "{}", "{0}", "{node.__class__}", "{node!r}", "{node:>9}", "{node", "}", "{node[0]}"]
)
def test_a_wrong_placeholder_is_named_with_its_place(text: str) -> None:
    with pytest.raises(ValueError, match=r"^here\.a\[1\]: "):
        check("here", {"a": ["{node}", text]})


@given(st.text(max_size=30))
def test_no_value_can_be_taken_for_an_option_or_break_a_line(text: str) -> None:
    action = Action(node="n1", verb=Verb.REBOOT, reason=text, cause=text)
    filled = fill("{reason}", action)
    assert not filled.startswith("-")
    assert filled == "" or (filled.isprintable() and filled.isascii())


@given(st.text(st.sampled_from("{}node!:.r"), max_size=12))
def test_what_is_checked_can_be_filled(text: str) -> None:
    try:
        check("here", text)
    except ValueError:
        return
    fill(text, ACTION)
