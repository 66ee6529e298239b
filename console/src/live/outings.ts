/** Selects the transitions to show: nodes that leave service and return. The start and end of jobs are normal. */

import type { Stage, TransitionView } from "../api";

const OUT: ReadonlySet<Stage> = new Set(["draining", "quarantined", "resetting", "removed"]);
const IN_SERVICE: ReadonlySet<Stage> = new Set(["ready", "spare", "allocated"]);

export class Outings {
  private readonly away = new Set<string>();

  forget(): void {
    this.away.clear();
  }

  isRelevant({ node, before, after }: Pick<TransitionView, "node" | "before" | "after">): boolean {
    if (before === after) return false; // the history has these
    if (OUT.has(before) || OUT.has(after)) this.away.add(node);
    const relevant = this.away.has(node);
    if (IN_SERVICE.has(after)) this.away.delete(node);
    return relevant;
  }
}
