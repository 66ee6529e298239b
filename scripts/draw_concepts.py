"""Draws the pictures of the concept pages into docs/; with --check it only reports whether they are out of date."""

import sys
from html import escape
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent / "docs"
STYLE = """<style>
text { font: 13px system-ui, sans-serif; fill: #1f2937; text-anchor: middle; dominant-baseline: middle }
text.small { font-size: 11px; fill: #4b5563 } text.left { text-anchor: start }
rect { fill: #eef2f7; stroke: #64748b } rect.good { fill: #dcfce7; stroke: #15803d }
rect.bad { fill: #fee2e2; stroke: #b91c1c }
rect.warn { fill: #fef9c3; stroke: #a16207 }
path, line { stroke: #64748b; stroke-width: 1.5; fill: none } marker path { fill: #64748b }
@media (prefers-color-scheme: dark) {
  text { fill: #e5e7eb } text.small { fill: #cbd5e1 } rect { fill: #1e293b; stroke: #94a3b8 }
  rect.good { fill: #14532d; stroke: #4ade80 } rect.bad { fill: #7f1d1d; stroke: #f87171 }
  rect.warn { fill: #713f12; stroke: #facc15 }
  path, line { stroke: #94a3b8 } marker path { fill: #94a3b8 }
}
</style>
<defs><marker id="end" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
<path d="M0 0 8 4 0 8z"/></marker></defs>
"""
Point = tuple[float, float]


def box(at: Point, size: Point, words: str, kind: str = "", small: str = "") -> str:
    (x, y), (width, height) = at, size
    middle = y + height / 2
    drawn = f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="6"/>'
    drawn += text((x + width / 2, middle - (8 if small else 0)), words)
    return drawn + (text((x + width / 2, middle + 10), small, "small") if small else "")


def text(at: Point, words: str, kind: str = "") -> str:
    return f'<text class="{kind}" x="{at[0]:g}" y="{at[1]:g}">{escape(words)}</text>'


def arrow(*points: Point) -> str:
    path = " ".join(f"{x:g} {y:g}" for x, y in points)
    return f'<path d="M{path}" marker-end="url(#end)"/>'


def picture(width: int, height: int, title: str, *parts: str) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" width="{width}">'
    return f"{head}\n<title>{escape(title)}</title>\n{STYLE}" + "\n".join(parts) + "\n</svg>\n"


def chain() -> str:
    """One chain of types."""
    words = (
        ("the world", ""),
        ("signals, events", "sources"),
        ("verdicts", "checks"),
        ("stages, actions", "lifecycle"),
    )
    parts = []
    for number, (name, by) in enumerate(words):
        parts.append(box((10 + number * 190, 40), (130, 44), name))
        if by:
            parts += [arrow((140 + (number - 1) * 190, 62), (198 + (number - 1) * 190, 62))]
            parts += [text((170 + (number - 1) * 190, 48), by, "small")]
    parts += [
        arrow((645, 40), (645, 15), (75, 15), (75, 38)),
        text((360, 8), "back ends: Slurm, Kubernetes, webhook", "small"),
    ]
    parts += [
        box((200, 140), (130, 44), "findings"),
        box((390, 140), (130, 44), "incidents"),
        box((580, 140), (130, 44), "a price"),
    ]
    parts += [arrow((265, 84), (265, 138)), text((290, 112), "seams", "small"), arrow((455, 84), (455, 138))]
    parts += [arrow((330, 162), (388, 162)), arrow((520, 162), (578, 162)), text((550, 150), "costs", "small")]
    return picture(730, 195, "From the world to a verdict, an action and a price", *parts)


def stages() -> str:
    """When each stage of checks runs, over the life of a node."""
    parts = [text((8, 25), "bootstrap", "left"), text((8, 75), "passive", "left"), text((8, 125), "probes", "left")]
    for x, width, words in ((100, 70, "full suite"), (390, 70, "full suite"), (680, 70, "full suite")):
        parts.append(box((x, 10), (width, 30), words, "good"))
    parts += [box((100, 60), (650, 30), "always, under load, less than 0.5 % of a core")]
    for x in (185, 480):
        parts.append(box((x, 110), (55, 30), "pair", "warn"))
    for x, width, words in ((250, 130, "a job runs"), (545, 125, "a job runs")):
        parts.append(box((x, 10), (width, 30), words))
    parts.append(arrow((100, 160), (750, 160)))
    parts += [text((425, 174), "a node's life", "small")]
    return picture(760, 182, "Bootstrap, passive and probes over a node's life", *parts)


def life() -> str:
    """Stages and the ways between them."""
    size = (112, 38)
    parts = [
        box((5, 60), size, "provisioning"), box((160, 60), size, "testing"), box((315, 60), size, "ready", "good"),
        box((470, 60), size, "allocated", "good"), box((625, 60), size, "cleaning"),
        box((470, 150), size, "draining", "warn"), box((315, 150), size, "quarantined", "bad"),
        box((160, 150), size, "resetting", "warn"), box((5, 150), size, "removed", "bad"),
    ]  # fmt: skip
    for x in (117, 272, 427, 582):
        parts.append(arrow((x, 79), (x + 41, 79)))
    parts += [
        arrow((681, 60), (681, 20), (216, 20), (216, 58)),
        text((450, 12), "tested in full before the next job", "small"),
    ]
    parts += [arrow((526, 98), (526, 148)), text((560, 124), "it fails", "small")]
    parts += [
        arrow((470, 169), (429, 169)),
        arrow((315, 169), (274, 169)),
        text((294, 200), "next repair step", "small"),
    ]
    parts += [arrow((216, 150), (216, 100)), text((260, 124), "test again", "small")]
    parts += [
        arrow((371, 188), (371, 222), (61, 222), (61, 190)),
        text((216, 232), "all repair steps failed: an operator", "small"),
    ]
    return picture(745, 242, "The node lifecycle", *parts)


def downtime() -> str:
    """What is known when, after a port goes down."""
    x = {"0 s": 60, "7.5 s": 250, "30 s": 400, "600 s": 690}
    parts = [arrow((60, 100), (735, 100))]
    for words, at in x.items():
        parts += [f'<line x1="{at}" y1="94" x2="{at}" y2="106"/>', text((at, 120), words, "small")]
    parts += [
        box((60, 50), (190, 28), "down, reported at once", "warn"),
        box((250, 50), (440, 28), "connections presumed lost", "bad"),
    ]
    parts += [text((60, 30), "the port goes down", "small"), text((690, 30), "PyTorch's watchdog", "small")]
    parts += [text((250, 30), "NCCL 2.14 to 2.22", "small"), text((400, 30), "from 2.23 on", "small")]
    parts += [
        box((420, 140), (200, 34), "confirmed", "bad", "an error, or peers that stopped"),
        arrow((470, 138), (470, 80)),
    ]
    parts += [text((690, 157), "restart here, not there", "small")]
    return picture(
        760, 185, "Presumed at the transport's deadline, confirmed by a sign, minutes before the watchdog", *parts
    )


def incident() -> str:
    """One root, its victims and its price."""
    parts = [box((10, 70), (100, 40), "cdu/c2", "bad", "the root"), box((155, 70), (90, 40), "rack/r1")]
    for number in range(3):
        parts.append(box((290, 20 + number * 52), (90, 40), f"node/n{number + 1}", "warn"))
        parts += [arrow((245, 90), (288, 40 + number * 52)), arrow((380, 40 + number * 52), (428, 90))]
    parts += [arrow((110, 90), (153, 90)), box((430, 70), (110, 40), "job/llama", "warn", "slow")]
    parts += [arrow((540, 90), (583, 90)), box((585, 70), (130, 40), "milestone/final", "", "later by 9 h")]
    layers = ("direct compute", "reserved capacity", "rollback", "labour", "schedule slip")
    for number, name in enumerate(layers):
        parts.append(box((10 + number * 142, 195), (137, 30), name))
    parts += [arrow((485, 110), (485, 193)), text((515, 152), "its price", "small")]
    return picture(730, 235, "One root, the path to what it slows, and its price in five layers", *parts)


DRAWINGS = {"chain": chain, "stages": stages, "life": life, "downtime": downtime, "incident": incident}


def main() -> int:
    made = {DOCS / f"concept-{name}.svg": draw() for name, draw in DRAWINGS.items()}
    due = [path for path, drawn in made.items() if not path.exists() or path.read_text() != drawn]
    if "--check" in sys.argv:
        for path in due:
            sys.stderr.write(f"{path.name} is not what it should be: run scripts/draw_concepts.py\n")
        return 1 if due else 0
    for path in due:
        path.write_text(made[path])
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
