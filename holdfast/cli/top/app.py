"""The fleet screen of `holdfast top`, and the application around it. Needs the extra [top]."""

import time
from typing import ClassVar

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import DataTable, Footer, Input, Static

from holdfast.cli.shared.fleet_clock import clock_of
from holdfast.cli.top import rows as top_rows
from holdfast.cli.top.node import NodeScreen
from holdfast.client.watch import FleetWatch

REFRESH_SECONDS = 1.0
COLUMNS = ("node", "pool", "stage", "for", "health", "why")
CSS = """
Screen { background: $background; }
Static { height: auto; padding: 0 1; }
DataTable { height: 1fr; }
#filter { border: none; height: 1; background: $panel; padding: 0 1; }
#verdicts { height: 2fr; }
#evidence { max-height: 8; background: $panel; }
#history { height: 3fr; }
"""


class Top(App[None]):
    """The application. Its only state is the last view of the fleet."""

    TITLE = "holdfast top"
    CSS = CSS
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [Binding("q", "quit", "Quit", show=True)]

    def __init__(self, watch: FleetWatch) -> None:
        super().__init__()
        self.live = watch

    def on_mount(self) -> None:
        self.live.start()
        self.push_screen(FleetScreen(self.live))

    def on_unmount(self) -> None:
        self.live.stop()


class Nodes(DataTable[Text]):
    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "select_cursor", "Open node", show=True)]


class FleetScreen(Screen[None]):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "filter", "Filter", show=True, priority=True),  # before what is typed next
        Binding("s", "sort", "Sort", show=True),
        Binding("escape", "all", "Show all", show=True),
    ]

    def __init__(self, watch: FleetWatch) -> None:
        super().__init__()
        self.live = watch
        self.order = next(iter(top_rows.ORDERS))
        self.shown: dict[str, tuple[Text, ...]] = {}

    def compose(self) -> ComposeResult:
        for name in ("connection", "stages", "pools", "incidents"):
            yield Static(id=name)
        yield Input(
            id="filter",
            placeholder="/ filters by name, n[001-016], stage, health, rack, job; Enter keeps it, Esc shows all",
        )
        yield Static(id="shown")
        yield Nodes(id="nodes", cursor_type="row", zebra_stripes=True)
        yield Footer()

    def on_mount(self) -> None:
        table = self._table()
        for column in COLUMNS:
            table.add_column(column, key=column)
        table.focus()
        self.refresh_view()
        self.set_interval(REFRESH_SECONDS, self.refresh_view)

    def refresh_view(self) -> None:
        view, now = self.live.view, time.time()
        times = clock_of(view.fleet)
        texts = {
            "connection": Text(f"{self.live.client.url}  ") + top_rows.connection(view, now),
            "stages": top_rows.stages(view),
            "pools": top_rows.pools(view),
            "incidents": top_rows.incidents(view.incidents, times),
        }
        for name, text in texts.items():
            self.query_one(f"#{name}", Static).update(text)
        found = top_rows.chosen(list(view.nodes.values()), self._filter_text(), self.order)
        first = found[: top_rows.MOST_ROWS]
        self._put({node["name"]: top_rows.row(node, times) for node in first})
        text = top_rows.shown_text(len(first), len(found), self.order, self._filter_text())
        self.query_one("#shown", Static).update(text)

    def _put(self, rows: dict[str, tuple[Text, ...]]) -> None:
        """Updates cells if the order is unchanged; otherwise refills the table, and the cursor follows its node."""
        table = self._table()
        if list(rows) == list(self.shown):
            for name, cells in rows.items():
                for column, cell, old in zip(COLUMNS, cells, self.shown[name], strict=True):
                    if cell != old:
                        table.update_cell(name, column, cell, update_width=True)
        else:
            at = self._at()
            table.clear()
            for name, cells in rows.items():
                table.add_row(*cells, key=name)
            if at in rows:
                table.move_cursor(row=list(rows).index(at), animate=False)
        self.shown = rows

    def _at(self) -> str:
        """The node under the cursor; '' if the table is empty."""
        number = self._table().cursor_row
        return list(self.shown)[number] if 0 <= number < len(self.shown) else ""

    def _table(self) -> Nodes:
        return self.query_one(Nodes)

    def _filter_text(self) -> str:
        return self.query_one("#filter", Input).value

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        if event.row_key.value is not None:
            self.app.push_screen(NodeScreen(self.live, event.row_key.value))

    def on_input_changed(self, event: Input.Changed) -> None:
        self.refresh_view()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.set_focus(self._table())

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disables the key / inside the filter, where a slash is text: rack/r7."""
        return not (action == "filter" and isinstance(self.focused, Input))

    def action_filter(self) -> None:
        self.set_focus(self.query_one("#filter", Input))  # at once: what is typed next belongs there

    def action_sort(self) -> None:
        names = list(top_rows.ORDERS)
        self.order = names[(names.index(self.order) + 1) % len(names)]
        self.refresh_view()

    def action_all(self) -> None:
        self.query_one("#filter", Input).value = ""
        self.set_focus(self._table())
