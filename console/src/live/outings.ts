/** Which moves are news: nodes that leave service and come back. That jobs come and go is what a fleet is for. */

import type { Stage, TransitionView } from "../api";

const OUT: ReadonlySet<Stage> = new Set(["draining", "quarantined", "resetting", "removed"]);
const IN_SERVICE: ReadonlySet<Stage> = new Set(["ready", "spare", "allocated"]);

export class Outings {
  private readonly away = new Set<string>();

  forget(): void {
    this.away.clear();
  }

  isNews({ node, before, after }: Pick<TransitionView, "node" | "before" | "after">): boolean {
    if (before === after) return false; // the story keeps these
    if (OUT.has(before) || OUT.has(after)) this.away.add(node);
    const news = this.away.has(node);
    if (IN_SERVICE.has(after)) this.away.delete(node);
    return news;
  }
}
