import { expect, test } from "vitest";
import { figure, step, ticks } from "./curve";

test.each([
  [1, [0, 0.1, 0.2]],
  [37, [0, 5, 10]],
])("ticks stand at round numbers up to %d", (top, first) => {
  const found = ticks(0, top);
  first.forEach((value, at) => expect(found[at]).toBeCloseTo(value));
  expect(found.length).toBeLessThanOrEqual(11);
});

test("on a logarithmic axis powers of ten, never too many", () => {
  expect(ticks(8, 2000, true)).toEqual([10, 100, 1000]);
  expect(ticks(1024, 2 ** 30, true, 32)).toEqual([2 ** 10, 2 ** 15, 2 ** 20, 2 ** 25, 2 ** 30]);
  expect(ticks(1e-9, 1e9, true).length).toBeLessThanOrEqual(8);
});

test.each([2, 3, 4, 7])("where only %d fit there are no more", (most) => {
  for (const span of [1, 1.9, 4.2, 9.9, 420]) {
    expect(span / step(span, most)).toBeLessThanOrEqual(most);
    expect(span / step(span, most)).toBeGreaterThan(most / 2.5 - 1e-9);
  }
  expect(ticks(1e-9, 1e9, true, 10, most).length).toBeLessThanOrEqual(most);
});

test("a span of nothing has a step", () => expect(step(0)).toBe(1));

test.each([[0, "0"], [0.5, "0.5"], [1024, "1,020"], [1e7, "1e7"], [0.0001, "1.0e-4"]])("%d is shown as %s", (value, shown) => {
  expect(figure(value as number)).toBe(shown);
});
