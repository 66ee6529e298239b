/** The duration of an incident for all views, in fleet time: that of its bill, or from its opening to its end. */

import type { Incident } from "../api";

export type Lasting = Pick<Incident, "opened" | "closed" | "account">;

export function secondsOf(incident: Lasting, at: number, timeFactor: number): number {
  if (incident.account) return incident.account.lasted_seconds;
  return Math.max(0, (incident.closed ?? at) - incident.opened) * timeFactor;
}
