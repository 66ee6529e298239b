/** One duration for every view: from when it began until it ended, in the fleet's own time. */

import type { Incident } from "../api";

export type Lasting = Pick<Incident, "opened" | "closed" | "account">;

export function secondsOf(incident: Lasting, at: number, timeFactor: number): number {
  const began = incident.account?.since ?? incident.opened;
  return Math.max(0, (incident.closed ?? at) - began) * timeFactor;
}
