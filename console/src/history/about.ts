/** Selects the incidents of a subject's chart. */

import type { Incident } from "../api";

function within(part: string, whole: string): boolean {
  return `${part}/`.startsWith(`${whole}/`);
}

/** Whether the incident is about the subject, a part of it or its whole, or affects the subject's node. */
export function about(incident: Pick<Incident, "subject" | "evidence">, subject: string): boolean {
  const [kind = "", name = ""] = subject.split("/");
  if (within(subject, incident.subject) || within(incident.subject, `${kind}/${name}`)) return true;
  return kind === "node" && incident.evidence.includes(name);
}
