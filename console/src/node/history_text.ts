/** The text of a history entry, and how pages of a growing history are joined. */

import type { HistoryEntry, HistoryPage } from "../api";

const LONGEST_LINE = 600;
/** The facts of an entry that are shown; the API has all of them. */
const SHOWN_FACTS = ["cause", "subjects", "evidence", "job", "by"];
const OURSELVES = "holdfast";

function cut(text: string): string {
  return text.length > LONGEST_LINE ? `${text.slice(0, LONGEST_LINE)} … (cut)` : text;
}

function words(value: unknown): string {
  if (Array.isArray(value)) return value.map(words).filter(Boolean).join("; ");
  if (typeof value === "object" && value !== null) return JSON.stringify(value);
  return value === null || value === undefined || value === OURSELVES ? "" : String(value);
}

/** Text below the title of an entry: the reason, then the shown facts, one line each. */
export function linesOf({ detail, facts }: Pick<HistoryEntry, "detail" | "facts">): string[] {
  const shown = SHOWN_FACTS.map((name) => [name, words(facts[name])])
    .filter(([, value]) => value)
    .map(([name, value]) => `${name}: ${value}`);
  return [detail, ...shown].filter(Boolean).map(cut);
}

export function identity(entry: HistoryEntry): string {
  return JSON.stringify([entry.at, entry.kind, entry.title, entry.detail]);
}

/** Newest first, each entry once. */
export function append(known: readonly HistoryEntry[], older: readonly HistoryEntry[]): HistoryEntry[] {
  const seen = new Set(known.map(identity));
  return [...known, ...older.filter((entry) => !seen.has(identity(entry)))];
}

export interface HistoryPages {
  entries: readonly HistoryEntry[];
  /** The cursor of the next page; null before the first page. */
  next: string | null;
}

/**
 * The newest page again over what is known: it holds for the span it covers, because an action's entry changes as the
 * action proceeds. When so much happened that it no longer touches what is known, only the page is kept.
 */
export function renew(known: HistoryPages, page: HistoryPage): HistoryPages {
  const oldest = page.entries.at(-1)?.at ?? Infinity;
  const touches = !page.next || (known.entries[0]?.at ?? -Infinity) >= oldest;
  if (known.next === null || !touches) return { entries: page.entries, next: page.next };
  return { entries: append(page.entries, known.entries.filter((entry) => entry.at <= oldest)), next: known.next };
}
