"""The node screen of `holdfast top`: current verdicts with their evidence, and history."""

import time
from typing import Any, ClassVar

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import DataTable, Footer, Static

from holdfast.cli.shared import node_history
from holdfast.cli.shared.fleet_clock import FleetClock, clock_of
from holdfast.cli.shared.table import clock, count
from holdfast.cli.top import rows as top_rows
from holdfast.client import history
from holdfast.client.client import node_path
from holdfast.client.watch import FleetWatch
from holdfast.config.printable import printable
from holdfast.config.quantities import lasting
from holdfast.model.refusal import Refusal

REFRESH_SECONDS = 2.0
MOST_VERDICTS = 500
HISTORY_ENTRIES = 200


class NodeScreen(Screen[None]):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,backspace", "app.pop_screen", "Back to the fleet", show=True),
        Binding("tab", "app.focus_next", "Verdicts or history", show=True),
    ]

    def __init__(self, watch: FleetWatch, node: str) -> None:
        super().__init__()
        self.live = watch
        self.node = node
        self.verdicts: list[dict[str, Any]] = []
        self._error = ""
        self._last: tuple[object, object] = (None, None)

    def compose(self) -> ComposeResult:
        for name in ("connection", "who", "place"):
            yield Static(id=name)
        yield DataTable(id="verdicts", cursor_type="row", zebra_stripes=True)
        yield Static(id="evidence")
        yield DataTable(id="history", cursor_type="row", zebra_stripes=True)
        yield Footer()

    def on_mount(self) -> None:
        self._table("verdicts").add_columns("check", "health", "since", "what was seen")
        self._table("history").add_columns("when", "kind", "what", "why")
        self.refresh_view()
        self.set_interval(REFRESH_SECONDS, self.refresh_view)

    def refresh_view(self) -> None:
        view, now = self.live.view, time.time()
        failed = self._error and not view.error
        text = Text(printable(self._error), "bold red") if failed else top_rows.connection(view, now)
        self.query_one("#connection", Static).update(text)
        self._read()

    @work(thread=True, exclusive=True)
    def _read(self) -> None:
        """Reads the node in a thread, because a controller without an answer must not freeze the screen."""
        try:
            detail = self.live.client.get(node_path(self.node))
            page = history.of_node(self.live.client, self.node, HISTORY_ENTRIES)
        except Refusal as refusal:
            self._error = str(refusal)
            return
        self._error = ""
        self.app.call_from_thread(self._show, detail, page["entries"])

    def _show(self, detail: dict[str, Any], entries: list[dict[str, Any]]) -> None:
        if not self.is_attached:
            return
        times = self._times()
        who = Text.assemble((printable(detail["name"]), "bold"), "  ", top_rows.styled(detail["stage"]))
        who.append(f" for {lasting(times.seconds_since(detail['since']))}: {printable(detail['reason'])}  ")
        self.query_one("#who", Static).update(who)
        place = ", ".join(f"{kind} {name}" for kind, name in detail["place"].items())
        valid = detail["tested_at"] is not None
        tested = f"tested {times.ago(detail['tested_at'])}" if valid else "no valid test"
        tested += f", last report {times.ago(detail['last_report_at'])}"
        tested += f", repair step {detail['repair_step']}"
        jobs = f"; runs {', '.join(detail['jobs'])}" if detail["jobs"] else ""
        text = f"pool {detail['pool']}{f', {place}' if place else ''}; {tested}{jobs}"
        self.query_one("#place", Static).update(Text(printable(text)))
        if (now_shown := (detail["verdicts"], entries)) != self._last:  # refilling a table loses the cursor position
            self._last = now_shown
            self._show_verdicts(detail["verdicts"])
            self._show_history(entries)

    def _show_verdicts(self, verdicts: list[dict[str, Any]]) -> None:
        ranked = sorted(verdicts, key=lambda one: (_rank(one["health"]), one["check"]))
        self.verdicts = ranked[:MOST_VERDICTS]
        table = self._table("verdicts")
        at = table.cursor_row
        table.clear()
        for one in self.verdicts:
            check, seen = Text(printable(one["check"])), Text(printable(one["reason"]))
            table.add_row(check, top_rows.styled(one["health"]), clock(self._times().at(one["since"])), seen)
        if not ranked:
            self.query_one("#evidence", Static).update("no check of this node has reported a verdict yet")
        if len(ranked) > len(self.verdicts):
            more = f"and {count(len(ranked) - len(self.verdicts), 'verdict')} more: holdfast node show {self.node}"
            table.add_row("", "", "", Text(printable(more), "dim"))
        table.move_cursor(row=at, animate=False)

    def _show_history(self, entries: list[dict[str, Any]]) -> None:
        """Shows the history, newest first, because the top of the screen is visible."""
        table = self._table("history")
        at = table.cursor_row
        table.clear()
        for line in reversed(node_history.lines(entries[::-1])):
            cells = (Text(printable(line.what)), Text(printable(line.why)))
            table.add_row(clock(self._times().at(line.at)), top_rows.styled(line.kind), *cells)
        table.move_cursor(row=at, animate=False)

    def on_data_table_row_highlighted(self, event: DataTable.RowHighlighted) -> None:
        if event.data_table.id == "verdicts" and event.cursor_row < len(self.verdicts):
            one = self.verdicts[event.cursor_row]
            evidence = "\n".join(one["evidence"]) or one["reason"] or "no evidence was reported"
            text = Text.assemble((printable(one["check"]), "bold"), " ", top_rows.styled(one["health"]))
            self.query_one("#evidence", Static).update(text.append("\n" + printable(evidence)))

    def _times(self) -> FleetClock:
        return clock_of(self.live.view.fleet)

    def _table(self, name: str) -> "DataTable[Text | str]":
        return self.query_one(f"#{name}", DataTable)


def _rank(health: str) -> int:
    return top_rows.HEALTHS.index(health) if health in top_rows.HEALTHS else len(top_rows.HEALTHS)
