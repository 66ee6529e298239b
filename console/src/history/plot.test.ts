import { expect, test } from "vitest";
import { extent, reach } from "./plot";

test("a line that never moves has one value, and one of zeros an axis from 0 to 1", () => {
  expect(extent("x", [])).toBe("no data");
  expect(extent("x", [3, 3, 3])).toBe("3 all the time");
  expect(extent("x", [3, 1, 2])).toBe("now 2, 1 to 3");
  expect(reach([[0, 0, null]], true)).toEqual([0, 1]);
  expect(reach([[0, 100]], true)).toEqual([0, 106]);
  expect(reach([[null]], false)).toEqual([0, 1]);
});
