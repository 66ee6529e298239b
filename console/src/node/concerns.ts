import type { Incident } from "../api";

/** It is about the node or a part of it, or the node is among those that it reaches. */
export function concerns(incident: Pick<Incident, "subject" | "evidence">, name: string): boolean {
  return incident.evidence.includes(name) || `${incident.subject}/`.startsWith(`node/${name}/`);
}
