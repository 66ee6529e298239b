import { expect, test } from "vitest";
import { share } from "./checkpoints";

test("a step is shown by the ranks whose part is there", () => {
  expect([share(0, 1024), share(3, 1024), share(1024, 1024)]).toEqual(["", "3 of 1,024", "all ranks"]);
});
