"""One node's screen of `holdfast top`: its standing verdicts with their evidence, and its story."""

import time
from typing import Any, ClassVar

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import DataTable, Footer, Static

from holdfast.cli.node import story as story_text
from holdfast.cli.shared.table import ago, clock, count, lasting, printable
from holdfast.cli.top import rows as top_rows
from holdfast.cli.top.watch import Watch
from holdfast.client.client import node_path
from holdfast.model.refusal import Refusal

LOOK_SECONDS = 2.0
MOST_VERDICTS = 500
STORY_ENTRIES = 200


class NodeScreen(Screen[None]):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,backspace", "app.pop_screen", "Back to the fleet", show=True),
        Binding("tab", "app.focus_next", "Verdicts or story", show=True),
    ]

    def __init__(self, watch: Watch, node: str) -> None:
        super().__init__()
        self.heard = watch
        self.node = node
        self.verdicts: list[dict[str, Any]] = []
        self._trouble = ""
        self._told: tuple[object, object] = (None, None)

    def compose(self) -> ComposeResult:
        for name in ("standing", "who", "place"):
            yield Static(id=name)
        yield DataTable(id="verdicts", cursor_type="row", zebra_stripes=True)
        yield Static(id="evidence")
        yield DataTable(id="story", cursor_type="row", zebra_stripes=True)
        yield Footer()

    def on_mount(self) -> None:
        self._table("verdicts").add_columns("check", "health", "since", "what was seen")
        self._table("story").add_columns("when", "kind", "what", "why")
        self.look()
        self.set_interval(LOOK_SECONDS, self.look)

    def look(self) -> None:
        view, now = self.heard.view, time.time()
        trouble = self._trouble and not view.away
        words = Text(printable(self._trouble), "bold red") if trouble else top_rows.standing(view, now)
        self.query_one("#standing", Static).update(words)
        self._read()

    @work(thread=True, exclusive=True)
    def _read(self) -> None:
        """In a thread: a controller that does not answer must not freeze the screen."""
        try:
            detail = self.heard.client.get(node_path(self.node))
            page = self.heard.client.get(node_path(self.node, "story"), limit=STORY_ENTRIES)
        except Refusal as refusal:
            self._trouble = str(refusal)
            return
        self._trouble = ""
        self.app.call_from_thread(self._show, detail, page["entries"])

    def _show(self, detail: dict[str, Any], entries: list[dict[str, Any]]) -> None:
        if not self.is_attached:
            return
        now = time.time()
        who = Text.assemble((printable(detail["name"]), "bold"), "  ", top_rows.styled(detail["stage"]))
        who.append(f" for {lasting(now - detail['since'])}: {printable(detail['reason'])}  ")
        self.query_one("#who", Static).update(who)
        place = ", ".join(f"{kind} {name}" for kind, name in detail["place"].items())
        tested = f"tested {ago(now, detail['tested_at'])}, heard {ago(now, detail['heard_at'])}"
        tested += f", repair step {detail['repair_step']}"
        jobs = f"; runs {', '.join(detail['jobs'])}" if detail["jobs"] else ""
        said = f"pool {detail['pool']}{f', {place}' if place else ''}; {tested}{jobs}"
        self.query_one("#place", Static).update(Text(printable(said)))
        if (told := (detail["verdicts"], entries)) != self._told:  # a table that is made anew loses its place
            self._told = told
            self._show_verdicts(detail["verdicts"])
            self._show_story(entries)

    def _show_verdicts(self, verdicts: list[dict[str, Any]]) -> None:
        ranked = sorted(verdicts, key=lambda one: (_rank(one["health"]), one["check"]))
        self.verdicts = ranked[:MOST_VERDICTS]
        table = self._table("verdicts")
        at = table.cursor_row
        table.clear()
        for one in self.verdicts:
            seen = Text(printable(one["reason"]))
            table.add_row(Text(printable(one["check"])), top_rows.styled(one["health"]), clock(one["since"]), seen)
        if not ranked:
            self.query_one("#evidence", Static).update("no check of this node has told a verdict yet")
        if len(ranked) > len(self.verdicts):
            more = f"and {count(len(ranked) - len(self.verdicts), 'verdict')} more: holdfast node show {self.node}"
            table.add_row("", "", "", Text(printable(more), "dim"))
        table.move_cursor(row=at, animate=False)

    def _show_story(self, entries: list[dict[str, Any]]) -> None:
        """Newest first here: the top of a screen is what is seen."""
        table = self._table("story")
        at = table.cursor_row
        table.clear()
        for line in reversed(story_text.lines(entries[::-1])):
            words = (Text(printable(line.what)), Text(printable(line.why)))
            table.add_row(clock(line.at), top_rows.styled(line.kind), *words)
        table.move_cursor(row=at, animate=False)

    def on_data_table_row_highlighted(self, event: DataTable.RowHighlighted) -> None:
        if event.data_table.id == "verdicts" and event.cursor_row < len(self.verdicts):
            one = self.verdicts[event.cursor_row]
            words = "\n".join(one["evidence"]) or one["reason"] or "no evidence was told"
            said = Text.assemble((printable(one["check"]), "bold"), " ", top_rows.styled(one["health"]))
            self.query_one("#evidence", Static).update(said.append("\n" + printable(words)))

    def _table(self, name: str) -> "DataTable[Text | str]":
        return self.query_one(f"#{name}", DataTable)


def _rank(health: str) -> int:
    return top_rows.HEALTHS.index(health) if health in top_rows.HEALTHS else len(top_rows.HEALTHS)
