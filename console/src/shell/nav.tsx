import { incidents } from "../live/session";
import { VIEWS, open, route, type View } from "./route";

const NAMES: Record<View, string> = {
  fleet: "Fleet",
  incidents: "Incidents",
  jobs: "Jobs",
  probes: "Probes",
  plan: "Plan",
  drill: "Drill",
};

export function Nav() {
  const here = route.value.view;
  return (
    <nav aria-label="Views">
      {VIEWS.map((view) => (
        <a
          key={view}
          href={`#/${view === "fleet" ? "" : view}`}
          aria-current={view === here ? "page" : undefined}
          onClick={(event) => {
            event.preventDefault();
            open(view);
          }}
        >
          {NAMES[view]}
          {view === "incidents" && incidents.value.length > 0 && <span class="count">{incidents.value.length}</span>}
        </a>
      ))}
    </nav>
  );
}
