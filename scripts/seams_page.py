"""Generate the table of rules in docs/seams.md."""

from diagnose_page import ROOT, between

from holdfast import seams


def seams_page() -> str:
    page = (ROOT / "docs" / "seams.md").read_text(encoding="utf-8")
    return between(page, "rules", _rules_table())


def _rules_table() -> list[str]:
    rows = [
        f"| `{one.name}` | {one.asks} | {', '.join(f'`{kind}`' for kind in one.kinds)} | {', '.join(one.domains)} |"
        for one in sorted(seams.ALL, key=lambda one: one.name)
    ]
    return ["| rule | question | reports | domains |", "|---|---|---|---|", *rows]
