import type { Incident } from "../api";

type Placed = Pick<Incident, "subject" | "evidence">;

/** Whether the incident is about the node or a part of it. */
export function isRoot({ subject }: Pick<Incident, "subject">, name: string): boolean {
  return `${subject}/`.startsWith(`node/${name}/`);
}

/** Whether the incident is about the node or a part of it, or affects the node. */
export function concerns(incident: Placed, name: string): boolean {
  return incident.evidence.includes(name) || isRoot(incident, name);
}
