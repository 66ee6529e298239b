"""The built console. `scripts/build-console` builds it from console/; the controller serves it."""

from pathlib import Path


def static_directory() -> Path | None:
    """The directory of the built page; None if this installation has none."""
    directory = Path(__file__).with_name("static")
    return directory if (directory / "index.html").is_file() else None
