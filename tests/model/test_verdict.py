"""A verdict stores its health; it must always be the worst of its rows."""

from dataclasses import replace

import pytest

from holdfast.model.health import Health
from holdfast.model.verdict import Row, Verdict, overall


def verdict(*healths: Health, disabled: bool = False) -> Verdict:
    return Verdict(rows=tuple(Row(f"node/n1/gpu/{n}", one) for n, one in enumerate(healths)), disabled=disabled)


@pytest.mark.parametrize(
    ("rows", "worst"),
    [
        ((Health.PASS, Health.FAIL, Health.UNKNOWN), Health.FAIL),
        ((Health.PASS, Health.UNKNOWN, Health.DEGRADED), Health.UNKNOWN),
        ((Health.PASS, Health.DEGRADED), Health.DEGRADED),
        ((Health.NOT_APPLICABLE, Health.PASS), Health.PASS),
        ((), Health.UNKNOWN),
    ],
)
def test_the_health_is_that_of_the_worst_row(rows: tuple[Health, ...], worst: Health) -> None:
    assert verdict(*rows).health is worst


def test_a_changed_copy_has_the_health_of_its_own_rows() -> None:
    before = verdict(Health.PASS)
    after = replace(before, rows=verdict(Health.FAIL).rows)
    assert (before.health, after.health) == (Health.PASS, Health.FAIL)
    assert replace(after, reason="why").health is Health.FAIL
    assert before == verdict(Health.PASS) and before != after


def test_what_is_disabled_or_not_applicable_does_not_count_for_a_node() -> None:
    assert overall([verdict(Health.PASS), verdict(Health.FAIL, disabled=True)]) is Health.PASS
    assert overall([verdict(Health.PASS), verdict(Health.NOT_APPLICABLE)]) is Health.PASS
    assert overall([verdict(Health.NOT_APPLICABLE)]) is Health.UNKNOWN
    assert overall([verdict(Health.PASS), verdict(Health.DEGRADED)]) is Health.DEGRADED
