/** Which incidents belong to the chart of a subject. */

import type { Incident } from "../api";

function within(part: string, whole: string): boolean {
  return `${part}/`.startsWith(`${whole}/`);
}

/** It is about the subject, a part of it or what it is a part of, or it reaches the subject's node. */
export function about(incident: Pick<Incident, "subject" | "evidence">, subject: string): boolean {
  const [kind = "", name = ""] = subject.split("/");
  if (within(subject, incident.subject) || within(incident.subject, `${kind}/${name}`)) return true;
  return kind === "node" && incident.evidence.includes(name);
}
