import { incidents, inbox, session } from "../live/session";
import { open, route, type View } from "./route";

const NAMES: readonly [View, string][] = [
  ["fleet", "Home"],
  ["inbox", "Inbox"],
  ["incidents", "Incidents"],
  ["jobs", "Jobs"],
  ["topology", "Topology"],
  ["history", "History"],
  ["probes", "Probes"],
  ["plan", "Plan"],
  ["drill", "Drill"],
];
const ADMINISTRATORS: readonly [View, string] = ["audit", "Audit"];

function count(view: View): number {
  if (view === "inbox") return inbox.value?.counts["open"] ?? 0;
  return view === "incidents" ? incidents.value.length : 0;
}

export function Nav() {
  const here = route.value.view;
  return (
    <nav aria-label="Views">
      {[...NAMES, ...(session.value?.role === "admin" ? [ADMINISTRATORS] : [])].map(([view, name]) => (
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
