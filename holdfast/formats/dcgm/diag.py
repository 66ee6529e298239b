"""Output of `dcgmi diag` in any form: JSON of any DCGM version, the table, or an error message."""

from dataclasses import replace

from holdfast.formats.dcgm import diag_json as dcgm_diag_json
from holdfast.formats.dcgm import diag_table as dcgm_diag_table
from holdfast.formats.dcgm.diag_result import Diagnostic


def parse(text: str) -> Diagnostic:
    """Results of the diagnostic. Text without any result is a diagnostic that did not run; its last lines are the
    reason."""
    found = dcgm_diag_json.parse(text) or dcgm_diag_table.parse(text)
    if found is None:
        return Diagnostic(error=_last_words(text) or "dcgmi printed nothing", complete=False)
    if not found.results and not found.error:
        return replace(found, error=_error_line(text) or "the diagnostic holds no result")
    return found


def _error_line(text: str) -> str:
    lines = (" ".join(line.split()) for line in text.splitlines())
    return next((line[:300] for line in lines if line.lower().startswith("error")), "")


def _last_words(text: str) -> str:
    lines = [line for line in (" ".join(line.split()) for line in text.splitlines()) if line]
    return _error_line(text) or (lines[-1][:300] if lines else "")
