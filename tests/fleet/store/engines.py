"""Marks for the tests that are about one engine: they are not collected for the other."""

import pytest

ON_SQLITE = pytest.mark.parametrize("url", ["sqlite"], indirect=True)
ON_POSTGRESQL = pytest.mark.parametrize("url", [pytest.param("postgresql", marks=pytest.mark.slow)], indirect=True)
