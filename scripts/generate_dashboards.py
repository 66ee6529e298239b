"""Makes deploy/grafana/*.json from deploy/grafana/dashboards.toml; with --check it only tells whether they are due."""

import json
import sys
import tomllib
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent.parent / "deploy" / "grafana"
ROW_WIDTH, HEIGHTS = 24, {"stat": 4, "timeseries": 8, "table": 8}
SOURCE = {"type": "prometheus", "uid": "${datasource}"}


def dashboard(spec: dict[str, Any]) -> dict[str, Any]:
    variables: list[dict[str, Any]] = [
        {"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Prometheus"}
    ]
    if chosen := spec.get("variable"):
        variables.append({**chosen, "type": "query", "datasource": SOURCE, "refresh": 2, "multi": False})
    return {
        "uid": f"holdfast-{spec['file']}",
        "title": spec["title"],
        "tags": ["holdfast"],
        "schemaVersion": 39,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {"list": variables},
        "panels": placed(spec["panels"]),
    }


def placed(panels: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """From left to right; a panel that does not fit begins a new row."""
    found, x, y, tallest = [], 0, 0, 0
    for number, spec in enumerate(panels, start=1):
        height = HEIGHTS[spec["kind"]]
        if x + spec["width"] > ROW_WIDTH:
            x, y, tallest = 0, y + tallest, 0
        found.append({**panel(spec, number), "gridPos": {"x": x, "y": y, "w": spec["width"], "h": height}})
        x, tallest = x + spec["width"], max(tallest, height)
    return found


def panel(spec: dict[str, Any], number: int) -> dict[str, Any]:
    is_table = spec["kind"] == "table"
    custom = {"stacking": {"mode": "normal"}, "fillOpacity": 40} if spec.get("stacked") else {}
    return {
        "id": number,
        "type": spec["kind"],
        "title": spec["title"],
        "datasource": SOURCE,
        "fieldConfig": {"defaults": {"unit": spec["unit"], "custom": custom}, "overrides": []},
        "targets": [
            {"refId": chr(65 + at), "expr": query, "datasource": SOURCE}
            | ({"format": "table", "instant": True} if is_table else {})
            for at, query in enumerate(spec["queries"])
        ],
    }


def main() -> int:
    spec = tomllib.loads((FOLDER / "dashboards.toml").read_text())["dashboard"]
    made = {FOLDER / f"{one['file']}.json": json.dumps(dashboard(one), indent=2) + "\n" for one in spec}
    due = [path for path, text in made.items() if not path.exists() or path.read_text() != text]
    if "--check" in sys.argv:
        for path in due:
            sys.stderr.write(f"{path.name} is not what dashboards.toml says: run scripts/generate_dashboards.py\n")
        return 1 if due else 0
    for path in due:
        path.write_text(made[path])
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
