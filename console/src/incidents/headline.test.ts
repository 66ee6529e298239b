import { expect, test } from "vitest";
import { summary } from "./headline";

test("what the headline says is not repeated", () => {
  expect(summary("cdu/c1: flow is low; in 4 min it cost 2 USD", "cdu/c1: flow is low")).toBe("In 4 min it cost 2 USD");
  expect(summary("cdu/c1 costs 2 USD", "cdu/c1: flow is low")).toBe("cdu/c1 costs 2 USD");
});
