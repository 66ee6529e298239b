import { expect, test } from "vitest";
import { backOf, RANGES, rangeOf, spanOf } from "./range";

test("a range ends now, or whole ranges earlier", () => {
  const hour = rangeOf("1h");
  expect(spanOf(hour, 0, 1, 10_000)).toEqual({ from: 6_400, to: 10_000 });
  expect(spanOf(hour, 2, 1, 10_000)).toEqual({ from: -800, to: 2_800 });
  expect(spanOf(hour, 1, 10, 10_000)).toEqual({ from: 9_280, to: 9_640 }); // a fleet that lives ten times as fast
});

test("nonsense in the address is the usual range until now", () => {
  expect(rangeOf("9y")).toBe(RANGES[1]);
  expect([undefined, "", "-1", "1.5", "x", "3", "5000"].map(backOf)).toEqual([0, 0, 0, 0, 0, 3, 1000]);
});
