import { expect, test } from "vitest";
import { concerns } from "./concerns";

test("an incident concerns the node it is about and those that it reaches", () => {
  expect(concerns({ subject: "node/n057/gpu/0", evidence: [] }, "n057")).toBe(true);
  expect(concerns({ subject: "node/n057", evidence: [] }, "n057")).toBe(true);
  expect(concerns({ subject: "cdu/c2", evidence: ["n057"] }, "n057")).toBe(true);
  expect(concerns({ subject: "node/n057/gpu/0", evidence: ["n003"] }, "n05")).toBe(false);
});
