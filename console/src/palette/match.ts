/** The entries of the command palette for typed text. Pure. */

export interface Entry {
  /** The target, such as "node n017". */
  name: string;
  kind: string;
  act: () => void;
}

/** 0: the name begins with the text, 1: a word of it does, 2: it contains the text; -1: no match. Every word must match. */
export function rank(name: string, typed: string): number {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  const text = name.toLowerCase();
  let worst = 0;
  for (const word of words) {
    const at = text.indexOf(word);
    if (at < 0) return -1;
    worst = Math.max(worst, at === 0 ? 0 : /[^a-z0-9]/.test(text[at - 1] ?? "") ? 1 : 2);
  }
  return worst;
}

export function matching(entries: Iterable<Entry>, typed: string, most: number): Entry[] {
  const found: [number, number, Entry][] = [];
  let order = 0;
  for (const entry of entries) {
    const place = rank(`${entry.name} ${entry.kind}`, typed);
    if (place >= 0) found.push([place, order++, entry]);
  }
  return found
    .toSorted((one, other) => one[0] - other[0] || one[1] - other[1])
    .slice(0, most)
    .map(([, , entry]) => entry);
}
