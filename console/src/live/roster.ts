/**
 * Every node as last received. Plain data outside the component tree: thousands of changes a second must cost a map entry
 * each, and one notice per frame to those who draw.
 */

import { HEALTHS, STAGES, type Health, type NodeView, type Stage } from "../api";

export interface Changes {
  /** Nodes came, went or moved: what is drawn must be arranged again. */
  structure: boolean;
  names: ReadonlySet<string>;
}

type Observer = (changes: Changes) => void;

export class Roster {
  readonly nodes = new Map<string, NodeView>();
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
        this.structure = true;
      }
    }
    nodes.forEach((node) => this.put(node));
    this.schedule();
  }

  put(node: NodeView): void {
    const known = this.nodes.get(node.name);
    if (!known || known.pool !== node.pool || !samePlace(known.place, node.place)) this.structure = true;
    this.nodes.set(node.name, node);
    this.changed.add(node.name);
    this.schedule();
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
