/** Rows of a list as the address requests them: searched, filtered, sorted. Pure. */

export type Cell = string | number | null | undefined;

export interface Column<T> {
  head: string;
  /** The sort key; without it the column cannot be sorted. */
  by?: (row: T) => Cell;
  /** Its cells are numbers, so its head is right-aligned too. */
  number?: boolean;
  /** The first click sorts the largest first. */
  largestFirst?: boolean;
}

export interface Sort {
  head: string;
  down: boolean;
}

const natural = new Intl.Collator("en", { numeric: true });

/** "Cost" is ascending, "-Cost" descending; '': the original order. */
export function parseSort(text: string): Sort | null {
  if (!text) return null;
  return text.startsWith("-") ? { head: text.slice(1), down: true } : { head: text, down: false };
}

export function formatSort(sort: Sort | null): string {
  return sort ? `${sort.down ? "-" : ""}${sort.head}` : "";
}

/** The order after the next click on a head: its first order, the other one, then none. */
export function nextSort<T>(column: Column<T>, now: Sort | null): Sort | null {
  const first = column.largestFirst ?? false;
  if (now?.head !== column.head) return { head: column.head, down: first };
  return now.down === first ? { head: column.head, down: !first } : null;
}

/** Unknown values stay last in every order. */
export function sorted<T>(rows: readonly T[], columns: readonly Column<T>[], sort: Sort | null): T[] {
  const by = columns.find((column) => column.head === sort?.head)?.by;
  if (!by || !sort) return [...rows];
  const direction = sort.down ? -1 : 1;
  return rows.toSorted((one, other) => {
    const [a, b] = [by(one) ?? null, by(other) ?? null];
    if (a === null || b === null) return Number(a === null) - Number(b === null);
    const order = typeof a === "number" && typeof b === "number" ? a - b : natural.compare(String(a), String(b));
    return order * direction;
  });
}

/** Every word must be found somewhere in the row's text. */
export function found<T>(rows: readonly T[], text: (row: T) => string, find: string): T[] {
  const words = find.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [...rows];
  return rows.filter((row) => {
    const all = text(row).toLowerCase();
    return words.every((word) => all.includes(word));
  });
}

/** Keeps the reading order: known rows keep their places, new ones come after them. */
export function held<T>(rows: readonly T[], key: (row: T) => string, before: readonly string[]): T[] {
  const place = new Map(before.map((name, at) => [name, at]));
  const last = before.length;
  return rows
    .map((row, at) => ({ row, at, place: place.get(key(row)) ?? last }))
    .toSorted((one, other) => one.place - other.place || one.at - other.at)
    .map(({ row }) => row);
}
