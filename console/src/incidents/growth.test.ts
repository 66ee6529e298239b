import { expect, test } from "vitest";
import { stacked } from "./growth";

test("layers stand on top of each other and reach the top when they are all", () => {
  const areas = stacked([{ hours: 0, layers: [0, 0] }, { hours: 2, layers: [30, 10] }]);
  expect(areas).toEqual(["0.0,96.0 600.0,24.0 600.0,96.0 0.0,96.0", "0.0,96.0 600.0,0.0 600.0,24.0 0.0,96.0"]);
});

test("what has not lasted has no picture", () => {
  expect(stacked([{ hours: 0, layers: [0] }])).toEqual([]);
});
