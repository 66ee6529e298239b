"""Refusals of the job service become answers of the API."""

import pytest

from holdfast.fleet.api.problem import Problem
from holdfast.fleet.controller.commands import show_training
from tests.fleet.jobs.test_service import Site, site

__all__ = ["site"]


def test_an_unknown_job_is_404_and_an_ambiguous_name_is_409(site: Site) -> None:
    with pytest.raises(Problem, match="no job called 'x'") as unknown:
        show_training(site.book, "x", site.transaction(), ())
    assert unknown.value.status == 404
    site.run(1)
    site.report("n0", progress=(site.window(0, owner="uid-7"),))
    with pytest.raises(Problem, match="uid-7:llama") as several:
        show_training(site.book, "llama", site.transaction(), ())
    assert (several.value.status, several.value.code) == (409, "several_jobs")
    assert show_training(site.book, "uid-7:llama", site.transaction(), ()).owner == "uid-7"
