import { expect, test } from "vitest";
import type { RankView } from "../api";
import { level, median, ordered } from "./heat";

const rank = (number: number, compute: number): RankView => ({ rank: number, node: "n1", gpu: 0, step: 2, compute, data: 0, wait: 0, checkpoint: 0, saved_step: 10 });

test("the median of an even number lies between two", () => expect(median([4, 1, 3, 2])).toBe(2.5));

test("a slow rank stands above the others, which stay in order", () => {
  expect(ordered([rank(0, 1), rank(1, 1), rank(2, 1.4), rank(3, 1)]).map((one) => one.rank)).toEqual([2, 0, 1, 3]);
});

test("waiting is shown and not judged, and what takes no time neither", () => {
  expect(level("wait", 9, 1, 2)).toBe("plain");
  expect(level("data", 0.001, 0.0001, 2)).toBe("plain");
  expect([level("compute", 1.2, 1, 2), level("compute", 1.05, 1, 2), level("compute", 1, 1, 2)]).toEqual(["slow", "below", "usual"]);
});
