/** The suspected parts, the same for Probes, Topology and the home page. */

import type { Incident, LeafPairView, ProbesView } from "../api";

export type SlowPart = ProbesView["suspects"][number];

/** Why a slow part is a suspect; '' if it was slow too rarely and is measured again first. */
export function suspicion({ subject, confirmed }: Pick<SlowPart, "subject" | "confirmed">, open: readonly Pick<Incident, "subject">[]): string {
  if (open.some((one) => one.subject === subject || one.subject === `fabric/${subject}`)) return "an incident is open";
  return confirmed ? "confirmed with a good partner" : "";
}

export function suspectsOf(probes: Pick<ProbesView, "suspects">, open: readonly Pick<Incident, "subject">[]): SlowPart[] {
  return probes.suspects.filter((part) => suspicion(part, open));
}

export const BELOW = 0.8;

/** One session below the limit is not a fault: healthy pairs vary, and the pair is probed again. Only suspects are red. */
export function level(pair: LeafPairView | undefined, suspected: boolean): string {
  if (!pair || pair.proven_at === null) return "unproven";
  if (suspected) return "slow";
  if (pair.ratio === null) return "unjudged";
  return pair.ratio < BELOW ? "below" : "usual";
}

/** The trunk between two leaves, or one of the leaves. */
export function isSuspect(subject: string, one: string, other: string): boolean {
  const [kind, name = ""] = subject.split("/", 2);
  if (kind === "trunk") return name.split("+").toSorted().join() === [one, other].toSorted().join();
  return kind === "leaf" && (name === one || name === other);
}
