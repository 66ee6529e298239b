"""Words of others on an operator's terminal: shown, never obeyed."""

import io
import re
from pathlib import Path

import pytest
from rich.console import Console

import holdfast
from holdfast.cli.shared.table import plain, styled
from holdfast.config.printable import printable

SOURCE = Path(holdfast.__file__).parent


@pytest.mark.parametrize("show", [plain, styled])
def test_an_escape_sequence_is_shown_and_not_obeyed(show) -> None:  # type: ignore[no-untyped-def]
    out = Console(file=io.StringIO(), force_terminal=True, width=200)
    out.print(show("\x1b]52;c;ZXZpbA==\x07\x9b2J[bold]GPU 3\u202e"), highlight=False)
    output = out.file.getvalue()  # type: ignore[attr-defined]
    assert not set("\x1b\x07\x9b\u202e") & set(output)
    assert "\\x1b]52" in output
    assert "[bold]GPU 3" in output


def test_letters_of_any_script_stay() -> None:
    assert printable("Größe 温度 — µs") == "Größe 温度 — µs"


def test_an_address_is_no_emoji() -> None:
    """Rich reads `:cd:` and `:ab:` as pictures; PCI buses are called so."""
    made = [path for path in SOURCE.rglob("*.py") if re.search(r"\bConsole\((?![^()]*emoji=False)", path.read_text())]
    assert not made, "a console that shows pictures"
    out = Console(file=io.StringIO(), width=200, emoji=False)
    out.print(plain("pci 0000:cd:00.0 and 0000:ab:00.0"), highlight=False)
    assert out.file.getvalue() == "pci 0000:cd:00.0 and 0000:ab:00.0\n"  # type: ignore[attr-defined]
