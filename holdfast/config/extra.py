"""Optional extras: one sentence that names the missing package when a feature needs it."""

from collections.abc import Iterator
from contextlib import contextmanager

from holdfast.model.refusal import Refusal


@contextmanager
def needs_extra(name: str) -> Iterator[None]:
    """Wraps an import. The base installation has only agents and checks, and starts fast."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.startswith("holdfast"):
            raise
        package = str(error.name).partition(".")[0]
        raise Refusal(f"{package} is not installed; it comes with: pip install '.[{name}]' in a clone", 1) from None
