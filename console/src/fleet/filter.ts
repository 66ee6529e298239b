/** Parses the filter: every word must occur; `key:value` searches one field only. */

import type { NodeView } from "../api";

export type Matches = (node: NodeView) => boolean;

function fields(node: NodeView): Record<string, string> {
  return {
    ...node.place,
    name: node.name,
    pool: node.pool,
    stage: node.stage,
    health: node.health,
    cause: node.cause,
    degraded_by: node.degraded_by,
    reason: node.reason,
    job: node.jobs.join(" "),
  };
}

/** Keys whose whole values must match, so that `rack:r1` does not match r10. */
function matchesWord(word: string): Matches {
  const [, key, value] = /^([a-z_]+):(.+)$/.exec(word) ?? [];
  if (key && value) {
    const wanted = value.split(",");
    return (node) => {
      const held = (fields(node)[key] ?? "").toLowerCase();
      return wanted.some((one) => (key === "reason" ? held.includes(one) : held.split(" ").includes(one)));
    };
  }
  return (node) => Object.values(fields(node)).some((text) => text.toLowerCase().includes(word));
}

export function filterFrom(text: string): Matches | null {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean).map(matchesWord);
  return words.length === 0 ? null : (node) => words.every((matches) => matches(node));
}

/** Add the word, or remove it if it is there: the effect of a click on a legend entry. */
export function toggleWord(text: string, word: string): string {
  const words = text.split(/\s+/).filter(Boolean);
  return (words.includes(word) ? words.filter((one) => one !== word) : [...words, word]).join(" ");
}
