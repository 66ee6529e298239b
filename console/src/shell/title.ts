/** The title of the browser tab. */

import type { Route } from "./route";

const NAMES: Record<Route["view"], string> = {
  fleet: "Home",
  inbox: "Inbox",
  incidents: "Incidents",
  jobs: "Jobs",
  topology: "Topology",
  history: "History",
  probes: "Probes",
  audit: "Audit",
  plan: "Plan",
  drill: "Drill",
  runbook: "Runbook",
  "sign-in": "Sign in",
  missing: "No such page",
};

/** "(3) n017 - Holdfast": number of open items, then the shown view. */
export function titleOf({ view, item, node }: Route, waiting: number): string {
  const shown = view === "missing" ? NAMES.missing : node || item.replace(/@\d+(\.\d+)?$/, "") || NAMES[view];
  return `${waiting > 0 ? `(${waiting}) ` : ""}${shown} - Holdfast`;
}
