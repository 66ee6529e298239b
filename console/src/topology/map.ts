/** Layout of the topology: loops with their racks, leaves with their spines, and subjects affected by an incident. Pure. */

import type { EdgeView, Health, Incident, NodeView } from "../api";

export interface RackBox {
  name: string;
  feeds: readonly string[];
  nodes: readonly NodeView[];
}

export interface LoopBox {
  /** '' if no node reports its loop. */
  name: string;
  /** The unit that cools the loop, such as cdu/cdu1. */
  coolers: readonly string[];
  racks: readonly RackBox[];
}

export interface LeafBox {
  name: string;
  spines: readonly string[];
  nodes: readonly NodeView[];
}

export interface SiteMap {
  loops: readonly LoopBox[];
  leaves: readonly LeafBox[];
}

const natural = new Intl.Collator("en", { numeric: true });
const WORST: readonly Health[] = ["fail", "unknown", "degraded", "pass"];

export function worstOf(nodes: readonly NodeView[]): Health {
  return WORST.find((health) => nodes.some((node) => node.health === health)) ?? "pass";
}

function grouped(nodes: readonly NodeView[], kind: string): [string, NodeView[]][] {
  const groups = new Map<string, NodeView[]>();
  for (const node of nodes) {
    const name = node.place[kind] ?? "";
    const group = groups.get(name);
    if (group) group.push(node);
    else groups.set(name, [node]);
  }
  return [...groups].toSorted(([one], [other]) => natural.compare(one, other));
}

/** A switch of the topology file and a leaf of a node's place are the same subject. */
export function plain(subject: string): string {
  return subject.replace(/^switch\//, "leaf/");
}

function actingOn(edges: readonly EdgeView[], kind: string, target: string): string[] {
  const found = edges.filter((edge) => edge.kind === kind && plain(edge.target) === target).map((edge) => edge.source);
  return [...new Set(found)].toSorted(natural.compare);
}

function unique(nodes: readonly NodeView[], kind: string): string[] {
  return [...new Set(nodes.map((node) => node.place[kind] ?? "").filter(Boolean))].toSorted(natural.compare);
}

export function mapOf(nodes: readonly NodeView[], edges: readonly EdgeView[]): SiteMap {
  const known = nodes.toSorted((one, other) => natural.compare(one.name, other.name));
  const loops = grouped(known, "loop").map(([name, members]) => ({
    name,
    coolers: name ? actingOn(edges, "cools", `loop/${name}`) : [],
    racks: grouped(members, "rack").map(([rack, inside]) => ({ name: rack, feeds: unique(inside, "feed"), nodes: inside })),
  }));
  const leaves = grouped(known, "leaf")
    .filter(([name]) => name)
    .map(([name, members]) => ({
      name,
      spines: [...new Set([...actingOn(edges, "connects", `leaf/${name}`), ...unique(members, "spine").map((one) => `spine/${one}`)])],
      nodes: members,
    }));
  return { loops, leaves };
}

/** All subjects of an incident: its root, the path from there, and the affected ones. A part highlights its node too. */
export function litBy(incident: Incident, nodes: readonly NodeView[]): ReadonlySet<string> {
  const account = incident.account;
  const path = (account?.path ?? []).flatMap((way) => way.split(" > ").map((one) => one.trim()));
  const named = [incident.subject, ...path, ...(account?.symptoms ?? []), ...incident.evidence];
  const names = new Set(nodes.map((node) => node.name));
  const found = new Set<string>();
  for (const one of named) {
    const [kind = "", name = ""] = one.split("/");
    if (kind === "node") found.add(`node/${name}`);
    else if (names.has(one)) found.add(`node/${one}`);
    else found.add(plain(one));
  }
  return found;
}

export type PairState = "suspect" | "below" | "unproven" | "proven";

/** With many leaves, only these are drawn. */
export const REMARKABLE: ReadonlySet<PairState> = new Set<PairState>(["suspect", "below", "unproven"]);
