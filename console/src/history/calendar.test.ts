import { expect, test } from "vitest";
import type { TransitionView } from "../api";
import { hours, inPercent, outages } from "./calendar";
import { isWithin, paths, reach } from "./plot";
import { before, rangeOf } from "./range";

function move(node: string, at: number, before: TransitionView["before"], after: TransitionView["after"]): TransitionView {
  return { node, at, before, after } as TransitionView;
}

const NODES = [
  { name: "a", stage: "ready" as const },
  { name: "b", stage: "quarantined" as const },
];

test("a node is out from the transition that takes it out to the one that brings it back", () => {
  const found = outages(NODES, [move("a", 150, "testing", "ready"), move("a", 100, "allocated", "draining"), move("a", 120, "draining", "testing")], 0, 200);
  expect(found.get("a")).toEqual([[100, 120]]);
  expect(found.get("b")).toEqual([[0, 200]]);
});

test("a node that was out before the range began counts from its beginning", () => {
  expect(outages([NODES[0]!], [move("a", 30, "resetting", "testing")], 10, 100).get("a")).toEqual([[10, 30]]);
});

test("before it enrolled a node was not out of service", () => {
  expect(outages([NODES[0]!], [move("a", 30, "provisioning", "testing")], 10, 100).get("a")).toEqual([]);
});

test("each hour has the share of node time in service, the last one only as far as it went", () => {
  const found = hours(NODES, [move("b", 50, "ready", "quarantined")], 0, 150, 100);
  expect(found.map((one) => one.share)).toEqual([0.75, 0.5]);
  expect(hours([], [], 0, 100, 100)[0]?.share).toBeNull();
});

test("a gap ends a line, and the axis leaves room but no emptiness below zero", () => {
  expect(paths([1, null, 2, 3], (at) => at, (value) => value)).toBe("M0.0 1.0M2.0 2.0L3.0 3.0");
  expect(reach([[5, 5]], false)).toEqual([4.7, 5.3]);
  expect(reach([[0, 10]], true)[0]).toBe(0);
  expect(reach([[null]], false)).toEqual([0, 1]);
});

test("moments are counted back from now", () => {
  expect([10, 600, 7200, 200_000].map(before)).toEqual(["now", "-10 min", "-2 h", "-2.3 d"]);
  expect(rangeOf("24h").hours).toBe(24);
  expect(rangeOf("nonsense").name).toBe("1h");
});

test.each([
  [1, "100"],
  [0.9996, "99.9"],
  [0.99999, "99.9"],
  [0.99, "99"],
  [0.985, "98"],
  [0, "0"],
])("a share of %f is %s percent: only all of it is 100", (share, words) => {
  expect(inPercent(share)).toBe(words);
});

test("what lasts into the span is within it", () => {
  const span = { from: 100, to: 200 };
  expect(isWithin({ at: 50, until: 120 }, span)).toBe(true);
  expect(isWithin({ at: 50, until: 90 }, span)).toBe(false);
  expect(isWithin({ at: 50, until: Infinity }, span)).toBe(true);
  expect(isWithin({ at: 201, until: Infinity }, span)).toBe(false);
  expect(isWithin({ at: 150 }, span)).toBe(true);
  expect(isWithin({ at: 99 }, span)).toBe(false);
});
