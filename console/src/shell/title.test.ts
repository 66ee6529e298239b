import { expect, test } from "vitest";
import { HOME } from "./route";
import { titleOf } from "./title";

test("a tab says what it shows and how much waits", () => {
  expect(titleOf(HOME, 0)).toBe("Home - Holdfast");
  expect(titleOf({ ...HOME, node: "n017" }, 3)).toBe("(3) n017 - Holdfast");
  expect(titleOf({ ...HOME, view: "incidents", item: "cdu/cdu1@1794832975.428" }, 0)).toBe("cdu/cdu1 - Holdfast");
});
