"""A policy file is taken whole or refused with its line, its key and what was expected."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.fleet.policy.file import parse
from holdfast.model.lifecycle import Verb
from holdfast.model.settings import SettingsError


def test_an_empty_file_is_the_defaults_which_carry_nothing_out() -> None:
    assert parse("", "p.toml") == Policy()
    assert Policy().dry_run


def test_every_kind_of_value_is_taken() -> None:
    text = 'dry_run = false\nrepair_steps = ["reboot"]\nbreaker_share = 1\nshadow_checks = ["gpu.power"]\nsuite = "7"\n'
    assert parse(text, "p.toml") == Policy(
        dry_run=False, repair_steps=(Verb.REBOOT,), breaker_share=1.0, shadow_checks=frozenset({"gpu.power"}), suite="7"
    )


@pytest.mark.parametrize(
    ("text", "expected_text"),
    [
        (
            "dry_run = false\n\nbreaker_shair = 0.1",
            "p.toml, line 3: breaker_shair: unknown key; did you mean breaker_share?",
        ),
        ("dry_run = false\n\nzzz = 0.1", "p.toml, line 3: zzz: unknown key; expected one of"),
        ("dry_run = 1", "line 1: dry_run: expected true or false, found 1"),
        ("breaker_nodes = true", "line 1: breaker_nodes: expected a whole number, found True"),
        ("# a comment\nbreaker_share = 1.5", "line 2: breaker_share: expected a share, more than 0 and at most 1"),
        ("breaker_nodes = 0", "breaker_nodes: expected at least 1, found 0"),
        ("silent_seconds = -3", "silent_seconds: expected more than 0 seconds"),
        ("silent_seconds = nan", "silent_seconds: expected more than 0 seconds"),
        ("spares = -1", "spares: expected 0 or more"),
        ('repair_steps = ["pray"]', "line 1: repair_steps: 'pray' is not one of "),
        (
            'repair_steps = ["uncordon"]',
            "line 1: repair_steps: expected some of reset_gpu, reboot, inspect, each once and in this",
        ),
        ('repair_steps = ["reboot", "reset_gpu"]', "line 1: repair_steps: expected some of reset_gpu, reboot, inspect"),
        ('repair_steps = ["reboot", "reboot"]', "line 1: repair_steps: expected some of reset_gpu, reboot, inspect"),
        ("repair_steps = []", "line 1: repair_steps: expected some of reset_gpu, reboot, inspect"),
        ('suite = ""', "suite: expected the name of a version"),
        (
            'shadow_checks = ["gpu.powr"]',
            "line 1: shadow_checks: no check is called 'gpu.powr'; the nearest is 'gpu.p",
        ),
        ('\n[pool.a]\nshadow_checks = ["gpu.ecc", "?"]', "line 3: pool.a.shadow_checks: no check is called '?', found"),
        ("[breaker]\nshare = 1", "line 1: breaker: unknown key"),
        ("dry_run = ", "p.toml: not valid TOML"),
    ],
)
def test_a_wrong_file_is_refused_with_line_and_key(text: str, expected_text: str) -> None:
    with pytest.raises(SettingsError) as refused:
        parse(text, "p.toml")
    assert expected_text in str(refused.value)
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


POOLS = """
breaker_nodes = 4
spares = 1

[pool.decode]
breaker_share = 0.5
dry_run = false

[pool."train.big"]
spares = 3

[[maintenance]]
name = "winter"
nodes = "n[01-03]"
start = 2026-11-20T02:00:00Z
end = 2026-11-20T06:00:00+01:00

[[maintenance]]
name = "cooling"
pool = "decode"
weekly = "Sun 22:00-02:00"
"""


def test_a_pool_has_what_its_table_says_and_else_what_the_file_says() -> None:
    policy = parse(POOLS, "p.toml")
    assert (policy.of("decode").breaker_share, policy.of("decode").breaker_nodes) == (0.5, 4)
    assert not policy.of("decode").dry_run
    assert policy.of("train.big").spares == 3
    assert policy.of("another") is policy


def test_maintenance_is_once_or_every_week() -> None:
    winter, cooling = parse(POOLS, "p.toml").maintenance
    assert winter.nodes == {"n01", "n02", "n03"}
    assert winter.end - winter.start == 3 * 3600
    assert (cooling.pool, cooling.weekly) == ("decode", True)
    sunday, monday = 1_763_938_800.0, 1_763_946_000.0  # 2025-11-23 23:00 and 2025-11-24 01:00 UTC
    assert cooling.active(sunday)
    assert cooling.active(monday)
    assert not cooling.active(monday + 3600)
    assert not cooling.active(sunday - 2 * 3600)


@pytest.mark.parametrize(
    ("text", "expected_text"),
    [
        ("spares = 1\n[pool.a]\nspares = -1", "p.toml, line 3: pool.a.spares: expected 0 or more, found -1"),
        ("[pool.a]\nspears = 1", "line 2: pool.a.spears: unknown key"),
        ("[pool.a]\n\nshared_nodes = 3", "line 3: pool.a.shared_nodes: is one for the whole fleet"),
        ("pool = 3", "line 1: pool: expected a table, found 3"),
        ("pools = {}", "line 1: pools: unknown key"),
        ("maintenance = 3", "line 1: maintenance: expected tables headed [[maintenance]]"),
        ("service_degraded = 'drain'", "line 1: service_degraded: 'drain' is not one of "),
        ("[[maintenance]]\nname = 'a b'", "line 2: maintenance[0].name: expected one word"),
        ("[[maintenance]]\nnodes = 'n1'", "line 1: maintenance[0].name: is missing"),
        ("[[maintenance]]\nname = 'a'", "line 1: maintenance[0].start: is missing; expected start and end, or weekly"),
        (
            "[[maintenance]]\nname = 'a'\nweekly='Sun 02:00-04:00'\n[[maintenance]]\nname = 'b'\nweekly = 'never'",
            "line 6: maintenance[1].weekly: expected a day and two times",
        ),
        ("[[maintenance]]\nname = 'a'\nweekly = 'Sun 25:00-26:00'", "line 3: maintenance[0].weekly: expected a day"),
        ("[[maintenance]]\nname='a'\nstart=2026-01-01T00:00:00\nend=2026-01-02T00:00:00", "a time with its zone"),
        (
            "[[maintenance]]\nname='a'\nstart=2026-01-03T00:00:00Z\nend=2026-01-02T00:00:00Z",
            "line 4: maintenance[0].end",
        ),
        ("[[maintenance]]\nname='a'\nnodes='n[1-'\nweekly='Sun 02:00-04:00'", "line 3: maintenance[0].nodes"),
        (
            "[[maintenance]]\nname='a'\nweekly='Sun 02:00-04:00'\n[[maintenance]]\nname='a'",
            "line 5: maintenance[1].name",
        ),
    ],
)
def test_a_wrong_table_is_refused_with_line_and_key(text: str, expected_text: str) -> None:
    with pytest.raises(SettingsError) as refused:
        parse(text, "p.toml")
    assert expected_text in str(refused.value)
    assert "\n" not in str(refused.value)


@given(st.text(alphabet="SunMoa 0123456789:-", max_size=20))
def test_any_weekly_time_is_taken_or_refused(text: str) -> None:
    try:
        (found,) = parse(f"[[maintenance]]\nname = 'a'\nweekly = '{text}'", "p.toml").maintenance
    except SettingsError as refused:
        assert "maintenance[0]" in str(refused)
    else:
        assert 0 <= found.start < found.end + 7 * 86_400
