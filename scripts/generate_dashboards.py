"""Makes deploy/grafana/*.json from deploy/grafana/dashboards.toml; with --check it only reports whether they are out
of date."""

import json
import sys
import tomllib
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent.parent / "deploy" / "grafana"
ROW_WIDTH, HEIGHTS = 24, {"stat": 4, "timeseries": 8, "table": 8}
SOURCE = {"type": "prometheus", "uid": "${datasource}"}
CONSOLE = "https://holdfast.example.com"  # as in the rules: set the variable to the controller's address
VIEWS = {"fleet": "inbox", "node": "", "job": "jobs/${job}", "incident-cost": "incidents"}
GREEN, AMBER, RED, GREY = "green", "orange", "red", "#808080"
HEALTHS = {"0": ("pass", GREEN), "1": ("degraded", AMBER), "2": ("fail", RED), "3": ("unknown", GREY)}


def links(file: str) -> list[dict[str, Any]]:
    """To the other dashboards, and to the console's view of the same thing."""
    return [
        {"title": "Holdfast", "type": "dashboards", "tags": ["holdfast"], "asDropdown": True, "keepTime": True},
        {"title": "Console", "type": "link", "url": f"${{console}}/#/{VIEWS[file]}", "targetBlank": True},
    ]


def dashboard(spec: dict[str, Any]) -> dict[str, Any]:
    variables: list[dict[str, Any]] = [
        {"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Prometheus"},
        {"name": "console", "type": "textbox", "query": CONSOLE, "label": "Holdfast console"},
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
        "links": links(spec["file"]),
        "panels": placed(spec["panels"]),
    }


def thresholds(limits: str) -> dict[str, Any]:
    """Colours by value, from "high AMBER RED", "low RED AMBER" or "health"; '' is green."""
    kind, *numbers = limits.split()
    if kind == "health":
        steps = [(None, GREEN), (1.0, AMBER), (2.0, RED), (3.0, GREY)]
    else:
        first, second = map(float, numbers)
        colours = (GREEN, AMBER, RED) if kind == "high" else (RED, AMBER, GREEN)
        steps = [(None, colours[0]), (first, colours[1]), (second, colours[2])]
        if first == second:
            steps.pop(1)
    return {"mode": "absolute", "steps": [{"value": value, "color": colour} for value, colour in steps]}


def defaults(spec: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {"unit": spec["unit"], "custom": {}}
    if spec.get("stacked"):
        found["custom"] = {"stacking": {"mode": "normal"}, "fillOpacity": 40}
    if limits := spec.get("limits"):
        found["thresholds"] = thresholds(limits)
        found["color"] = {"mode": "palette-classic" if spec["kind"] == "timeseries" else "thresholds"}
        if spec["kind"] == "timeseries":
            found["custom"] |= {"thresholdsStyle": {"mode": "line"}}
        if spec["kind"] == "table":
            found["custom"] |= {"cellOptions": {"type": "color-text"}}
    if spec.get("values") == "health":
        words = {code: {"text": word, "color": colour} for code, (word, colour) in HEALTHS.items()}
        found["mappings"] = [{"type": "value", "options": words}]
    return found


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
    return {
        "id": number,
        "type": spec["kind"],
        "title": spec["title"],
        "description": spec["about"],
        "datasource": SOURCE,
        "fieldConfig": {"defaults": defaults(spec), "overrides": []},
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
