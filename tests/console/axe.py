"""What axe-core finds on a page as it stands."""

from typing import Any

from .conftest import ROOT

AXE = ROOT / "console" / "node_modules" / "axe-core" / "axe.min.js"


def serious(page: Any) -> list[str]:
    page.evaluate(AXE.read_text())
    found = page.evaluate("axe.run().then(({violations}) => violations)")
    return [
        f"{one['id']}: {one['help']}: {[node['html'][:120] for node in one['nodes'][:3]]}"
        for one in found
        if one["impact"] in ("serious", "critical")
    ]
