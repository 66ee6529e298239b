import { expect, test } from "vitest";
import { pieces } from "./chart";

test("what nobody saw is a gap, not a line through it", () => {
  expect(pieces({ start: 0, step: 10, values: [1, 2, null, 2] }, { from: 0, to: 30 }).length).toBe(2);
});

test("two signals on one span stand on one axis", () => {
  const [late] = pieces({ start: 50, step: 50, values: [3, 3] }, { from: 0, to: 100 });
  expect(late?.split(" ").map((point) => point.split(",")[0])).toEqual(["300.0", "600.0"]);
});

test("nothing seen draws nothing", () => {
  expect(pieces({ start: 0, step: 1, values: [null, null] }, { from: 0, to: 1 })).toEqual([]);
});
