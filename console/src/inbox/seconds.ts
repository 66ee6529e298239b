/** The duration of an item; for an incident, the duration that all views show. */

import type { Incident, ItemView } from "../api";
import { secondsOf } from "../incidents/seconds";

export type Lasted = Pick<ItemView, "key" | "since" | "lasted_seconds" | "ended_at">;

export function itemSeconds(item: Lasted, open: readonly Incident[], at: number, timeFactor: number): number {
  if (item.ended_at != null) return item.lasted_seconds ?? 0;
  const incident = open.find(({ id }) => `incident/${id}` === item.key);
  if (incident) return secondsOf(incident, at, timeFactor);
  return item.key.startsWith("incident/") || item.key.startsWith("group/") ? (item.lasted_seconds ?? 0) : Math.max(0, at - item.since) * timeFactor;
}
