/** Share of each hour in which nodes were in service, from their transitions. Pure. */

import type { Stage, TransitionView } from "../api";

export const OUT: ReadonlySet<Stage> = new Set<Stage>(["draining", "quarantined", "resetting", "removed", "provisioning"]);

export interface Hour {
  from: number;
  /** 0 to 1; null without known nodes. */
  share: number | null;
}

interface Known {
  name: string;
  stage: Stage;
}

/** Seconds of [from, to) that lie in [start, end). */
function overlap(from: number, to: number, start: number, end: number): number {
  return Math.max(0, Math.min(to, end) - Math.max(from, start));
}

/** When each node was out of service, oldest first. A node without a transition had its current state all the time. */
export function outages(nodes: readonly Known[], moves: readonly TransitionView[], from: number, to: number): Map<string, [number, number][]> {
  const found = new Map<string, [number, number][]>(nodes.map((node) => [node.name, []]));
  const state = new Map<string, { since: number; out: boolean }>();
  for (const move of moves.toSorted((one, other) => one.at - other.at)) {
    const known = state.get(move.node) ?? { since: from, out: move.before !== "provisioning" && OUT.has(move.before) }; // before it enrolled it was not out
    if (known.out) found.get(move.node)?.push([known.since, move.at]);
    state.set(move.node, { since: Math.max(from, move.at), out: OUT.has(move.after) });
  }
  for (const node of nodes) {
    const known = state.get(node.name) ?? { since: from, out: OUT.has(node.stage) };
    if (known.out) found.get(node.name)?.push([known.since, to]);
  }
  return found;
}

export function hours(nodes: readonly Known[], moves: readonly TransitionView[], from: number, to: number, seconds: number): Hour[] {
  const out = [...outages(nodes, moves, from, to).values()].flat();
  const count = Math.ceil((to - from) / seconds - 1e-9);
  return Array.from({ length: count }, (_, number) => {
    const start = from + number * seconds;
    const end = Math.min(to, start + seconds);
    const lost = out.reduce((sum, [a, b]) => sum + overlap(a, b, start, end), 0);
    return { from: start, share: nodes.length > 0 && end > start ? 1 - lost / (nodes.length * (end - start)) : null };
  });
}

/** "100" is the whole time; even a minute out of service is visible. */
export function inPercent(share: number): string {
  const percent = share * 100;
  return String(percent >= 99 && percent < 100 ? Math.floor(percent * 10 + 1e-9) / 10 : Math.floor(percent + 1e-9));
}
