/** The words of a story entry, and how pages of a story that grows at its newer end join. */

import type { StoryEntry, StoryPage } from "../api";

const LONGEST_LINE = 600;
/** Of the facts of an entry, what a person asks next; the rest is bookkeeping that the API keeps. */
const TOLD_FACTS = ["cause", "subjects", "evidence", "job", "by"];
const OURSELVES = "holdfast";

function cut(text: string): string {
  return text.length > LONGEST_LINE ? `${text.slice(0, LONGEST_LINE)} … (cut)` : text;
}

function words(value: unknown): string {
  if (Array.isArray(value)) return value.map(words).filter(Boolean).join("; ");
  if (typeof value === "object" && value !== null) return JSON.stringify(value);
  return value === null || value === undefined || value === OURSELVES ? "" : String(value);
}

/** What an entry says below its title: the reason, then the facts worth telling, a line each. */
export function linesOf({ detail, facts }: Pick<StoryEntry, "detail" | "facts">): string[] {
  const told = TOLD_FACTS.map((name) => [name, words(facts[name])])
    .filter(([, value]) => value)
    .map(([name, value]) => `${name}: ${value}`);
  return [detail, ...told].filter(Boolean).map(cut);
}

export function identity(entry: StoryEntry): string {
  return JSON.stringify([entry.at, entry.kind, entry.title, entry.detail]);
}

/** Newest first, each entry once. */
export function append(known: readonly StoryEntry[], older: readonly StoryEntry[]): StoryEntry[] {
  const seen = new Set(known.map(identity));
  return [...known, ...older.filter((entry) => !seen.has(identity(entry)))];
}

export interface Telling {
  entries: readonly StoryEntry[];
  /** Where to read on; null before the first page. */
  next: string | null;
}

/**
 * The newest page again over what is known: it holds for the span it covers, because an action's entry changes as the
 * action proceeds. When so much happened that it no longer touches what is known, only the page is kept.
 */
export function renew(known: Telling, page: StoryPage): Telling {
  const oldest = page.entries.at(-1)?.at ?? Infinity;
  const touches = !page.next || (known.entries[0]?.at ?? -Infinity) >= oldest;
  if (known.next === null || !touches) return { entries: page.entries, next: page.next };
  return { entries: append(page.entries, known.entries.filter((entry) => entry.at <= oldest)), next: known.next };
}
