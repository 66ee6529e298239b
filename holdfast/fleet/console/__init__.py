"""The web page as built files: `scripts/build-console` makes them from console/, the controller serves them."""

from pathlib import Path


def static_directory() -> Path | None:
    """Where the built page lies, or None when this installation was made without it."""
    directory = Path(__file__).with_name("static")
    return directory if (directory / "index.html").is_file() else None
