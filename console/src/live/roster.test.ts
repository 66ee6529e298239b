import { expect, test } from "vitest";
import type { NodeView } from "../api";
import { Roster, type Changes } from "./roster";

function node(name: string, change: Partial<NodeView> = {}): NodeView {
  return {
    name, pool: "train", place: { rack: "r1" }, stage: "ready", since: 0, reason: "", cause: "", health: "pass", repair_step: 0,
    tested_at: null, last_report_at: null, degraded_by: "", held: "", jobs: [], twin: false, ...change,
  };
}

/** A roster whose frames come when the test says so. */
function watched() {
  const frames: (() => void)[] = [];
  const seen: Changes[] = [];
  const roster = new Roster((notify) => frames.push(notify));
  roster.observe((changes) => seen.push(changes));
  return { roster, seen, frames, nextFrame: () => frames.splice(0).forEach((notify) => notify()) };
}

test("a thousand changes between two frames are seen once", () => {
  const { roster, seen, frames, nextFrame } = watched();
  for (let i = 0; i < 1000; i++) roster.put(node(`n${i % 10}`));
  expect(frames.length).toBe(1);
  nextFrame();
  expect(seen.length).toBe(1);
  expect(seen[0]?.names.size).toBe(10);
});

test("a change of stage moves no cell; a change of place does", () => {
  const { roster, seen, nextFrame } = watched();
  roster.replace([node("a")]);
  nextFrame();
  roster.put(node("a", { stage: "draining" }));
  nextFrame();
  roster.put(node("a", { place: { rack: "r2" } }));
  nextFrame();
  expect(seen.map((changes) => changes.structure)).toEqual([true, false, true]);
});

test("a node that is gone after a lost connection is gone here too", () => {
  const { roster, nextFrame } = watched();
  roster.replace([node("a"), node("b")]);
  roster.replace([node("b", { health: "fail" })]);
  nextFrame();
  expect([...roster.nodes.keys()]).toEqual(["b"]);
  expect(roster.count().healths).toMatchObject({ pass: 0, fail: 1 });
});

test("the root of an open incident is not shown as healthy, until the incident is over", () => {
  const { roster, nextFrame, seen } = watched();
  roster.replace([node("a"), node("b"), node("c", { health: "fail" })]);
  nextFrame();
  roster.setRoots(new Set(["a", "c", "leaf/l1"]));
  nextFrame();
  expect(seen.at(-1)?.names).toContain("a");
  expect(roster.count().healths).toMatchObject({ pass: 1, degraded: 1, fail: 1 });
  roster.put(node("a", { stage: "allocated" }));
  expect(roster.nodes.get("a")).toMatchObject({ health: "degraded", stage: "allocated" });
  roster.setRoots(new Set());
  expect(roster.nodes.get("a")).toMatchObject({ health: "pass", stage: "allocated" });
  roster.setRoots(new Set(["b"]));
  roster.replace([node("a")]);
  roster.setRoots(new Set());
  expect([...roster.nodes.keys()]).toEqual(["a"]);
});
