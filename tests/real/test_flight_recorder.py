"""Real dumps of a 16-rank job with faults injected on known ranks."""

import pytest

from holdfast.diagnosis.rules.collectives import CollectivePlace, collective_states
from holdfast.formats.pytorch.flight_recorder import parse

from . import captures

DATA = captures.DATA / "flight_recorder"
pytestmark = captures.needs(DATA)


@pytest.mark.parametrize("layout", ["pickle", "json"])
@pytest.mark.parametrize(("job", "ranks"), [("gpu_error_2nd", (9, 14)), ("lock_gil_2nd", (10, 15))])
def test_exactly_the_injured_ranks_are_named(job: str, ranks: tuple[int, ...], layout: str) -> None:
    dumps = [parse(path.read_bytes(), path.name) for path in sorted((DATA / job / layout).iterdir())]
    assert sorted(dump.rank for dump in dumps) == list(range(16))
    assert [(found.place, found.ranks) for found in collective_states(dumps)] == [(CollectivePlace.NOT_JOINED, ranks)]
