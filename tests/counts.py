"""How many draws a test makes: few while one works (`make quick`), all of them before one pushes (`make test`)."""

from hypothesis import settings

QUICK_EXAMPLES = 10  # of the profile in conftest.py


def draws(quick: int, full: int) -> int:
    return quick if settings.default.max_examples <= QUICK_EXAMPLES else full  # type: ignore[union-attr]
