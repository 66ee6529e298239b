"""Generate the tables of docs/diagnose.md (causes and incidents) from the data."""

import json
from pathlib import Path

from holdfast.catalog import causes

ROOT = Path(__file__).parent.parent


def diagnose_page() -> str:
    page = (ROOT / "docs" / "diagnose.md").read_text(encoding="utf-8")
    return between(between(page, "causes", _causes_table()), "incidents", _incidents_table())


def between(page: str, name: str, table: list[str]) -> str:
    start, end = f"<!-- {name}: generated -->\n", f"<!-- end of {name} -->"
    before, _, rest = page.partition(start)
    return before + start + "\n".join(table) + "\n" + end + rest.partition(end)[2]


def _causes_table() -> list[str]:
    rows = [
        f"| `{cause.name}` | {cause.failure_class} | {cause.says.replace(' (%s)', '')} | `{cause.action}` |"
        for cause in causes.all_causes().values()
    ]
    return ["| cause | class | meaning | default next step |", "|---|---|---|---|", *rows]


def _incidents_table() -> list[str]:
    rows = []
    for path in sorted((ROOT / "tests" / "diagnosis" / "incidents").glob("*/expected.json")):
        expected = json.loads(path.read_text(encoding="utf-8"))
        cause = f"`{expected['cause']}`" if expected["cause"] else "nothing"
        action = f"`{expected['action']}`" + (f" {', '.join(expected['exclude'])}" if expected["exclude"] else "")
        rows.append(f"| {path.parent.name} | {expected['story']} | {cause} | {action if expected['action'] else ''} |")
    return ["| incident | what happened | cause | next step |", "|---|---|---|---|", *rows]
