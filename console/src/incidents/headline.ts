import type { InboxView, Incident } from "../api";

/** "cdu/cdu1: coolant flow is low". The stream sends incidents without figures; the inbox has the same title for them. */
export function headline(incident: Incident, inbox: InboxView | null = null): string {
  if (incident.figures?.title) return `${incident.subject}: ${incident.figures.title}`;
  const item = inbox?.items.find(({ key }) => key === `incident/${incident.id}`);
  return item?.title ?? (incident.cause ? `${incident.subject}: ${incident.cause}` : incident.subject);
}

/** A sentence without its headline, which the page shows above it. */
export function summary(sentence: string, head: string): string {
  if (!sentence.startsWith(`${head}; `)) return sentence; // it may begin with a name: cdu/c2
  const rest = sentence.slice(head.length + 2);
  return rest.charAt(0).toUpperCase() + rest.slice(1);
}
