"""A policy file is taken whole or refused with its line, its key and what was expected."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.controller.policy_file import parse
from holdfast.lifecycle.policy import Policy
from holdfast.model.life import Verb
from holdfast.model.settings import SettingsError


def test_an_empty_file_is_the_defaults_which_carry_nothing_out() -> None:
    assert parse("", "p.toml") == Policy()
    assert Policy().dry_run


def test_every_kind_of_value_is_taken() -> None:
    text = 'dry_run = false\nladder = ["reboot"]\nbreaker_share = 1\nshadow_checks = ["gpu.power"]\nsuite = "7"\n'
    assert parse(text, "p.toml") == Policy(
        dry_run=False, ladder=(Verb.REBOOT,), breaker_share=1.0, shadow_checks=frozenset({"gpu.power"}), suite="7"
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("dry_run = false\n\nbreaker_shair = 0.1", "p.toml, line 3: breaker_shair: unknown key; expected one of"),
        ("dry_run = 1", "line 1: dry_run: Expected `bool`, got `int`, found 1"),
        ("breaker_nodes = true", "line 1: breaker_nodes: Expected `int`, got `bool`"),
        ("# a comment\nbreaker_share = 1.5", "line 2: breaker_share: expected a share, more than 0 and at most 1"),
        ("breaker_nodes = 0", "breaker_nodes: expected at least 1, found 0"),
        ("silent_seconds = -3", "silent_seconds: expected more than 0 seconds"),
        ("silent_seconds = nan", "silent_seconds: expected more than 0 seconds"),
        ("spares = -1", "spares: expected 0 or more"),
        ('ladder = ["pray"]', "line 1: ladder: Invalid enum value 'pray'"),
        ('suite = ""', "suite: expected the name of a version"),
        ("[breaker]\nshare = 1", "line 1: breaker: unknown key"),
        ("dry_run = ", "p.toml: not valid TOML"),
    ],
)
def test_a_wrong_file_is_refused_with_line_and_key(text: str, said: str) -> None:
    with pytest.raises(SettingsError) as refused:
        parse(text, "p.toml")
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


@given(st.text())
def test_any_text_is_a_policy_or_a_refusal(text: str) -> None:
    with suppress(SettingsError):
        parse(text, "p.toml")


@given(
    st.sampled_from(sorted(Policy.__dataclass_fields__)), st.sampled_from(["1", "-1", "0.5", '"x"', "[]", "{}", "inf"])
)
def test_any_value_of_any_key_is_taken_or_refused(key: str, value: str) -> None:
    try:
        assert parse(f"{key} = {value}", "p.toml") is not None
    except SettingsError as refused:
        assert key in str(refused)
