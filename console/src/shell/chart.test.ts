import { expect, test } from "vitest";
import { pieces, thinned } from "./chart";

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

test("thirty days of minutes are thinned, and their peak and their gap stay", () => {
  const values = Array.from({ length: 43_200 }, (_, at) => (at === 20_000 ? 99 : at > 30_000 && at < 31_000 ? null : 1));
  const found = thinned({ start: 0, step: 60, values });
  expect(found.values.length).toBeLessThanOrEqual(1202);
  expect(found.values).toContain(99);
  expect(found.values).toContain(null);
  expect(found.step * found.values.length).toBeCloseTo(43_200 * 60, -4);
});
