/**
 * Every node as last received. Plain data outside the component tree: thousands of changes a second must cost a map entry
 * each, and one notice per frame to those who draw.
 */

import { HEALTHS, STAGES, type Health, type NodeView, type Stage } from "../api";

export interface Changes {
  /** Nodes came, went or moved, so the grid must be arranged again. */
  structure: boolean;
  names: ReadonlySet<string>;
}

type Observer = (changes: Changes) => void;

export class Roster {
  readonly nodes = new Map<string, NodeView>();
  /** Roots of open incidents that pass their own checks, as the controller sent them. */
  private readonly passing = new Map<string, NodeView>();
  private roots: ReadonlySet<string> = new Set();
  private changed = new Set<string>();
  private structure = false;
  private scheduled = false;
  private readonly observers = new Set<Observer>();

  constructor(private readonly nextFrame: (notify: () => void) => void = (notify) => requestAnimationFrame(notify)) {}

  observe(observer: Observer): () => void {
    this.observers.add(observer);
    return () => this.observers.delete(observer);
  }

  replace(nodes: readonly NodeView[]): void {
    const present = new Set(nodes.map((node) => node.name));
    for (const name of this.nodes.keys()) {
      if (!present.has(name)) {
        this.nodes.delete(name);
        this.passing.delete(name);
        this.structure = true;
      }
    }
    nodes.forEach((node) => this.put(node));
    this.schedule();
  }

  put(node: NodeView): void {
    const known = this.nodes.get(node.name);
    if (!known || known.pool !== node.pool || !samePlace(known.place, node.place)) this.structure = true;
    this.nodes.set(node.name, this.shown(node));
    this.changed.add(node.name);
    this.schedule();
  }

  /** Names of nodes that are root causes of open incidents. */
  setRoots(roots: ReadonlySet<string>): void {
    const before = [...this.passing.values()];
    this.roots = roots;
    before.forEach((node) => this.put(node));
    for (const name of roots) {
      const node = this.nodes.get(name);
      if (node) this.put(this.passing.get(name) ?? node);
    }
  }

  /** A node can pass its own checks and still slow a job down. The page must not show it as healthy. */
  private shown(node: NodeView): NodeView {
    const raised = node.health === "pass" && this.roots.has(node.name);
    if (raised) this.passing.set(node.name, node);
    else this.passing.delete(node.name);
    return raised ? { ...node, health: "degraded" } : node;
  }

  private schedule(): void {
    if (this.scheduled) return;
    this.scheduled = true;
    this.nextFrame(() => {
      const changes = { structure: this.structure, names: this.changed };
      this.scheduled = false;
      this.structure = false;
      this.changed = new Set();
      this.observers.forEach((observer) => observer(changes));
    });
  }

  count(): { stages: Record<Stage, number>; healths: Record<Health, number> } {
    const stages = Object.fromEntries(STAGES.map((stage) => [stage, 0])) as Record<Stage, number>;
    const healths = Object.fromEntries(HEALTHS.map((health) => [health, 0])) as Record<Health, number>;
    for (const node of this.nodes.values()) {
      if (node.stage in stages) stages[node.stage] += 1;
      if (node.health in healths) healths[node.health] += 1;
    }
    return { stages, healths };
  }
}

function samePlace(one: Record<string, string>, other: Record<string, string>): boolean {
  const kinds = Object.keys(one);
  return kinds.length === Object.keys(other).length && kinds.every((kind) => one[kind] === other[kind]);
}
