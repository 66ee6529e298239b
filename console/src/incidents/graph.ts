/** The paths of an account from cause to symptoms, as one graph in columns; many subjects of a kind are one box. */

export interface Box {
  id: string;
  words: string;
  kind: string;
  column: number;
  row: number;
}

export interface Graph {
  boxes: readonly Box[];
  edges: readonly (readonly [from: string, to: string])[];
  columns: number;
  rows: number;
}

const MOST_IN_A_COLUMN = 6;

/** The kind of a subject: gpu for a node's GPU, rank for a job's rank, otherwise the first part of the address. */
export function kindOf(subject: string): string {
  const [whole = "", , part] = subject.split("/", 3);
  return part ?? whole;
}

/** Drops paths that are only the beginning of another. */
export function whole(paths: readonly string[]): string[] {
  return paths.filter((path) => !paths.some((other) => other.startsWith(`${path} > `)));
}

function edgesOf(paths: readonly string[]): [string, string][] {
  const steps = paths.map((path) => path.split(" > ").map((one) => one.trim()).filter(Boolean));
  return steps.flatMap((path) => path.slice(1).map((to, at): [string, string] => [path[at]!, to]));
}

/** The column is the longest distance from a cause; a cycle, which no path should have, ends the search. */
function columnsOf(subjects: ReadonlySet<string>, edges: readonly (readonly [string, string])[]): Map<string, number> {
  const column = new Map([...subjects].map((one) => [one, 0]));
  for (let round = 0; round < subjects.size; round++) {
    let moved = false;
    for (const [from, to] of edges) {
      const next = (column.get(from) ?? 0) + 1;
      if (next > (column.get(to) ?? 0) && next < subjects.size) {
        column.set(to, next);
        moved = true;
      }
    }
    if (!moved) break;
  }
  return column;
}

/** Number of subjects of a kind among the victims and their wholes: 248 GPUs are on 31 nodes. */
function reached(kind: string, victims: readonly string[]): number {
  if (kind !== "node") return victims.filter((one) => kindOf(one) === kind).length;
  return new Set(victims.filter((one) => one.startsWith("node/")).map((one) => one.split("/")[1])).size;
}

/** `victims`: all victims; `paths` may cover only some of them. */
export function graph(paths: readonly string[], victims: readonly string[] = []): Graph {
  const edges = edgesOf(paths);
  const subjects = new Set([...paths.flatMap((path) => path.split(" > ").map((one) => one.trim()))].filter(Boolean));
  const column = columnsOf(subjects, edges);
  const crowd = new Map<string, string[]>();
  for (const one of subjects) {
    const key = `${column.get(one)} ${kindOf(one)}`;
    crowd.set(key, [...(crowd.get(key) ?? []), one]);
  }
  const merged = new Map<string, string>();
  const rows = new Map<number, number>();
  const boxes: Box[] = [];
  for (const [key, members] of crowd) {
    const at = Number(key.split(" ")[0]);
    const count = Math.max(members.length, reached(kindOf(members[0]!), victims));
    const together = count > MOST_IN_A_COLUMN && members.length > 1;
    for (const words of together ? [`${count} × ${kindOf(members[0]!)}`] : members) {
      const id = together ? key : words;
      const row = rows.get(at) ?? 0;
      rows.set(at, row + 1);
      boxes.push({ id, words, kind: kindOf(members[0]!), column: at, row });
      (together ? members : [words]).forEach((one) => merged.set(one, id));
    }
  }
  const drawn = new Set(edges.map(([from, to]) => `${merged.get(from)}\n${merged.get(to)}`));
  return {
    boxes,
    edges: [...drawn].map((one) => one.split("\n") as [string, string]).filter(([from, to]) => from !== to),
    columns: Math.max(0, ...rows.keys()) + 1,
    rows: Math.max(1, ...rows.values()),
  };
}
