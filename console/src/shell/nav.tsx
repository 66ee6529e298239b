import { incidents, inbox } from "../live/session";
import { open, route, type View } from "./route";

const NAMES: readonly [View, string][] = [
  ["fleet", "Home"],
  ["inbox", "Inbox"],
  ["incidents", "Incidents"],
  ["jobs", "Jobs"],
  ["probes", "Probes"],
  ["plan", "Plan"],
  ["drill", "Drill"],
];

function count(view: View): number {
  if (view === "inbox") return inbox.value?.counts["open"] ?? 0;
  return view === "incidents" ? incidents.value.length : 0;
}

export function Nav() {
  const here = route.value.view;
  return (
    <nav aria-label="Views">
      {NAMES.map(([view, name]) => (
        <a
          key={view}
          href={`#/${view === "fleet" ? "" : view}`}
          aria-current={view === here ? "page" : undefined}
          onClick={(event) => {
            event.preventDefault();
            open(view);
          }}
        >
          {name}
          {count(view) > 0 && <> <span class="count">{count(view)}</span></>}
        </a>
      ))}
    </nav>
  );
}
