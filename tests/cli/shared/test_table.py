"""Words of others on an operator's terminal: shown, never obeyed."""

import io

import pytest
from rich.console import Console

from holdfast.cli.shared.table import plain, printable, styled


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
