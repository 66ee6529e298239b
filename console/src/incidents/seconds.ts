/** One duration for every view, in the fleet's own time: that of its bill; without one, from when it opened until it closed. */

import type { Incident } from "../api";

export type Lasting = Pick<Incident, "opened" | "closed" | "account">;

export function secondsOf(incident: Lasting, at: number, timeFactor: number): number {
  if (incident.account) return incident.account.lasted_seconds;
  return Math.max(0, (incident.closed ?? at) - incident.opened) * timeFactor;
}
