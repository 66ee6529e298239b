import type { InboxView, Incident } from "../api";

/** "cdu/cdu1: coolant flow is low". The stream sends incidents without figures; the inbox has the same title for them. */
export function headline(incident: Incident, inbox: InboxView | null = null): string {
  if (incident.figures) return `${incident.subject}: ${incident.figures.title}`;
  const item = inbox?.items.find(({ key }) => key === `incident/${incident.id}`);
  return item?.title ?? `${incident.subject}: ${incident.cause}`;
}
