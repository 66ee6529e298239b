import { expect, test } from "vitest";
import type { Incident } from "../api";
import { headline, summary } from "./headline";

test("an incident without a title is its subject, however it came", () => {
  const streamed = { id: "1", subject: "node/n1/gpu/0", cause: "" } as Incident;
  const asked = { ...streamed, figures: { title: "" } } as Incident;
  expect(headline(streamed)).toBe("node/n1/gpu/0");
  expect(headline(asked)).toBe("node/n1/gpu/0");
});

test("what the headline says is not repeated", () => {
  expect(summary("cdu/c1: flow is low; in 4 min it cost 2 USD", "cdu/c1: flow is low")).toBe("In 4 min it cost 2 USD");
  expect(summary("cdu/c1 costs 2 USD", "cdu/c1: flow is low")).toBe("cdu/c1 costs 2 USD");
});
