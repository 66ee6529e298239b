/** Positions of the nodes in the grid. Pure: takes nodes, grouping and space. */

import type { NodeView } from "../api";

export interface Group {
  name: string;
  x: number;
  y: number;
  width: number;
  first: number;
  count: number;
}

export interface Arrangement {
  pitch: number;
  height: number;
  groups: Group[];
  /** Node names in reading order; position i is at (xs[i], ys[i]). */
  names: string[];
  xs: Float32Array;
  ys: Float32Array;
  at: Map<string, number>;
  /** Whether groups have their names above them; without room they have none. */
  labelled: boolean;
  /** The key of the groups: rack, leaf, pool. */
  by: string;
}

export interface Room {
  width: number;
  height: number;
}

export const LARGEST_PITCH = 72;
export const SMALLEST_PITCH = 4;
const PITCHES = [LARGEST_PITCH, 64, 56, 48, 40, 34, 28, 24, 20, 18, 16, 14, 12, 11, 10, 9, 8, 7, 6, 5, SMALLEST_PITCH];
const LABEL_HEIGHT = 16;
const LABEL_CHARACTER_WIDTH = 6.6;
const GAP = 8;
const TIGHT_GAP = 3;
/** Room for the ring around a cell at the edge. */
const EDGE = 3;
/** A block wider than this share of the space gets its own lines, because it does not fit next to others. */
const FILLS_A_LINE = 0.25;

const natural = new Intl.Collator("en", { numeric: true });

export type Named = [group: string, names: string[]];

export function groupNodes(nodes: Iterable<NodeView>, by: string): Named[] {
  const groups = new Map<string, string[]>();
  for (const node of nodes) {
    const name = (by === "pool" ? node.pool : node.place[by]) ?? "";
    const members = groups.get(name);
    if (members) members.push(node.name);
    else groups.set(name, [node.name]);
  }
  groups.forEach((names) => names.sort(natural.compare));
  const homeless = groups.get("");
  groups.delete("");
  const sorted = [...groups].sort(([one], [other]) => natural.compare(one, other));
  return homeless ? [...sorted, [`no ${by}`, homeless]] : sorted;
}

/** Keys by which nodes can be grouped: their pool, and the keys of their places. */
export function groupings(nodes: Iterable<NodeView>): string[] {
  const kinds = new Set<string>();
  for (const node of nodes) Object.keys(node.place).forEach((kind) => kinds.add(kind));
  const usual = ["rack", "loop", "leaf"].filter((kind) => kinds.delete(kind));
  return [...usual, ...[...kinds].sort(natural.compare), "pool"];
}

function columnsOf(count: number, label: string, pitch: number, width: number, labelled: boolean): number {
  const widest = Math.max(1, Math.floor((width - 2 * EDGE) / pitch));
  const forLabel = labelled ? Math.ceil((label.length * LABEL_CHARACTER_WIDTH) / pitch) : 1;
  const ideal = Math.min(widest, Math.max(forLabel, Math.ceil(Math.sqrt(count * (pitch > 12 ? 2.5 : 1)))));
  if (ideal > widest * FILLS_A_LINE) return Math.min(widest, Math.max(forLabel, count));
  const empty = (columns: number): number => Math.ceil(count / columns) * columns - count;
  // A full rectangle is easier to read than a ragged one: it may be up to a half wider if that leaves fewer gaps.
  let best = ideal;
  for (let columns = ideal + 1; columns <= Math.min(widest, ideal * 1.5); columns++) {
    if (empty(columns) < empty(best)) best = columns;
  }
  return best;
}

/** Gap between two cells. */
export function gapOf(pitch: number): number {
  return Math.max(1, Math.round(pitch * 0.12));
}

/** Blocks flow like words: side by side while they fit, each line as high as its highest block. */
function placeGroups(groups: readonly Named[], pitch: number, width: number, labelled: boolean): { placed: Group[]; height: number } {
  const placed: Group[] = [];
  const gap = labelled ? GAP : TIGHT_GAP;
  let [x, y, lineHeight, first] = [EDGE, 0, 0, 0];
  for (const [name, names] of groups) {
    const columns = columnsOf(names.length, name, pitch, width, labelled);
    const blockWidth = columns * pitch;
    if (x > EDGE && x + blockWidth > width - EDGE) {
      [x, y, lineHeight] = [EDGE, y + lineHeight + gap, 0];
    }
    placed.push({ name, x, y, width: blockWidth, first, count: names.length });
    lineHeight = Math.max(lineHeight, labelHeight(labelled) + Math.ceil(names.length / columns) * pitch);
    x += blockWidth + gap;
    first += names.length;
  }
  return { placed, height: y + lineHeight + EDGE };
}

function labelHeight(labelled: boolean): number {
  return labelled ? LABEL_HEIGHT : 0;
}

/** Names make a fleet easier to read, so cells get smaller for them; below this size the names are left out first. */
const SMALLEST_LABELLED_PITCH = 7;

interface Fit {
  pitch: number;
  labelled: boolean;
}

/** The largest cells that show all nodes at once; `zoom` changes the size in steps. */
export function fitting(groups: readonly Named[], room: Room, zoom: number): Fit {
  const fit = (labelled: boolean, least: number): number =>
    PITCHES.findIndex((pitch) => pitch >= least && placeGroups(groups, pitch, room.width, labelled).height <= room.height);
  const named = fit(true, SMALLEST_LABELLED_PITCH);
  const bare = named < 0 ? fit(false, SMALLEST_PITCH) : named;
  const index = Math.min(PITCHES.length - 1, Math.max(0, (bare < 0 ? PITCHES.length - 1 : bare) - zoom));
  const pitch = PITCHES[index] ?? SMALLEST_PITCH;
  return { pitch, labelled: named >= 0 || zoom > 0 };
}

export function arrange(groups: readonly Named[], room: Room, zoom = 0, by = "rack"): Arrangement {
  const { pitch, labelled } = fitting(groups, room, zoom);
  const { placed, height } = placeGroups(groups, pitch, room.width, labelled);
  const names = groups.flatMap(([, members]) => members);
  const xs = new Float32Array(names.length);
  const ys = new Float32Array(names.length);
  for (const group of placed) {
    const columns = group.width / pitch;
    for (let i = 0; i < group.count; i++) {
      xs[group.first + i] = group.x + (i % columns) * pitch;
      ys[group.first + i] = group.y + labelHeight(labelled) + Math.floor(i / columns) * pitch;
    }
  }
  return { pitch, height, groups: placed, names, xs, ys, at: new Map(names.map((name, i) => [name, i])), labelled, by };
}

/** The node under a point, or -1. It searches the groups first, because there are fewer of them. */
export function hit(arrangement: Arrangement, x: number, y: number): number {
  const { pitch, labelled } = arrangement;
  for (const group of arrangement.groups) {
    const column = Math.floor((x - group.x) / pitch);
    const row = Math.floor((y - group.y - labelHeight(labelled)) / pitch);
    const columns = group.width / pitch;
    if (column < 0 || row < 0 || column >= columns) continue;
    const index = row * columns + column;
    if (index < group.count) return group.first + index;
  }
  return -1;
}

export type Key = "ArrowLeft" | "ArrowRight" | "ArrowUp" | "ArrowDown" | "Home" | "End";

/** Left and right in reading order; up and down to the nearest cell. */
export function move(arrangement: Arrangement, from: number, key: Key): number {
  const last = arrangement.names.length - 1;
  if (last < 0) return -1;
  if (from < 0) return key === "End" ? last : 0;
  if (key === "Home") return 0;
  if (key === "End") return last;
  if (key === "ArrowLeft") return Math.max(0, from - 1);
  if (key === "ArrowRight") return Math.min(last, from + 1);
  return nearest(arrangement, from, key === "ArrowDown" ? 1 : -1);
}

/** A cell directly below a label is nearer than a lower one in the neighbouring block. */
function nearest({ xs, ys }: Arrangement, from: number, direction: 1 | -1): number {
  const [x, y] = [xs[from] ?? 0, ys[from] ?? 0];
  let [best, bestDistance] = [from, Infinity];
  for (let i = 0; i < xs.length; i++) {
    const down = ((ys[i] ?? 0) - y) * direction;
    const distance = down + 2 * Math.abs((xs[i] ?? 0) - x);
    if (down > 0.5 && distance < bestDistance) [best, bestDistance] = [i, distance];
  }
  return best;
}
