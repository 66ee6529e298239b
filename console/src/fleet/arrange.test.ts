import { expect, test } from "vitest";
import type { NodeView } from "../api";
import { arrange, groupings, groupNodes, hit, move } from "./arrange";

function node(name: string, place: Record<string, string> = {}, pool = "train"): NodeView {
  return {
    name, pool, place, stage: "ready", since: 0, reason: "", cause: "", health: "pass", repair_step: 0,
    tested_at: null, last_report_at: null, degraded_by: "", held: "", jobs: [], twin: false,
  };
}

function racks(count: number, size: number): NodeView[] {
  return Array.from({ length: count * size }, (_, i) => node(`n${i}`, { rack: `r${Math.floor(i / size)}` }));
}

/** What a window of 1280 x 800 leaves for the grid. */
const ROOM = { width: 1233, height: 556 };

test("groups and nodes come in the order a person counts, and the homeless last", () => {
  const nodes = [node("n10", { rack: "r10" }), node("n9", { rack: "r2" }), node("n2", { rack: "r10" }), node("x")];
  expect(groupNodes(nodes, "rack")).toEqual([["r2", ["n9"]], ["r10", ["n2", "n10"]], ["no rack", ["x"]]]);
});

test("every kind of place a node names can be grouped by", () => {
  expect(groupings([node("a", { feed: "f1", leaf: "l1" }), node("b", { rack: "r1" })])).toEqual(["rack", "leaf", "feed", "pool"]);
});

test("a fleet of 12,500 in two pools is seen at once", () => {
  const fleet = Array.from({ length: 12_500 }, (_, i) => node(`n${i}`, {}, i % 4 ? "train" : "infer"));
  expect(arrange(groupNodes(fleet, "pool"), ROOM).height).toBeLessThanOrEqual(ROOM.height);
});

test("no two cells lie on each other and none outside the room", () => {
  const grid = arrange(groupNodes(racks(40, 17), "rack"), ROOM);
  const corners = new Set(grid.names.map((_, i) => `${grid.xs[i]},${grid.ys[i]}`));
  expect(corners.size).toBe(grid.names.length);
  expect(Math.max(...grid.xs) + grid.pitch).toBeLessThanOrEqual(ROOM.width);
});

test("the point in the middle of a cell finds its node, and beside the cells there is none", () => {
  const grid = arrange(groupNodes(racks(40, 17), "rack"), ROOM);
  grid.names.forEach((_, i) => {
    expect(hit(grid, (grid.xs[i] ?? 0) + grid.pitch / 2, (grid.ys[i] ?? 0) + grid.pitch / 2)).toBe(i);
  });
  expect(hit(grid, -5, 40)).toBe(-1);
  expect(hit(grid, 5, 2)).toBe(-1);
});

test("fewer nodes get larger cells, and zoom steps from there", () => {
  const many = arrange(groupNodes(racks(100, 16), "rack"), ROOM).pitch;
  const few = groupNodes(racks(4, 16), "rack");
  expect(arrange(few, ROOM).pitch).toBeGreaterThan(many);
  expect(arrange(few, ROOM, -1).pitch).toBeLessThan(arrange(few, ROOM).pitch);
});

test("arrows walk cell by cell and back, and stop at the ends", () => {
  const grid = arrange(groupNodes(racks(4, 16), "rack"), ROOM);
  expect(move(grid, -1, "ArrowRight")).toBe(0);
  expect(move(grid, 0, "ArrowLeft")).toBe(0);
  expect(move(grid, 63, "ArrowRight")).toBe(63);
  const below = move(grid, 3, "ArrowDown");
  expect(grid.xs[below]).toBe(grid.xs[3]);
  expect(grid.ys[below]).toBeGreaterThan(grid.ys[3] ?? 0);
  expect(move(grid, below, "ArrowUp")).toBe(3);
  expect(move(grid, move(grid, 5, "End"), "Home")).toBe(0);
  expect(move(arrange([], ROOM), 0, "ArrowDown")).toBe(-1);
});

test("a fleet of 12,500 in 782 racks is seen at once: the names of the racks give way before the cells do", () => {
  const grid = arrange(groupNodes(racks(782, 16), "rack"), ROOM);
  expect(grid.height).toBeLessThanOrEqual(ROOM.height);
  expect(grid.labelled).toBe(false);
  expect(grid.pitch).toBeGreaterThanOrEqual(4);
  const corners = new Set(grid.names.map((_, i) => `${grid.xs[i]},${grid.ys[i]}`));
  expect(corners.size).toBe(grid.names.length);
  expect(hit(grid, (grid.xs[99] ?? 0) + 2, (grid.ys[99] ?? 0) + 2)).toBe(99);
  expect(arrange(groupNodes(racks(782, 16), "rack"), ROOM, 3).labelled).toBe(true);
});
