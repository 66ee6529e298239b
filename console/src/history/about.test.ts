import { expect, test } from "vitest";
import { about } from "./about";

const on = (subject: string, ...evidence: string[]) => ({ subject, evidence });

test.each([
  [on("node/n057/gpu/0"), "node/n057/gpu/0", true],
  [on("node/n057/gpu/0"), "node/n057/gpu/1", true],
  [on("node/n057"), "node/n057/gpu/0", true],
  [on("node/n057/gpu/0"), "node/n05/gpu/0", false],
  [on("cdu/cdu1"), "cdu/cdu1", true],
  [on("cdu/cdu1"), "cdu/cdu10", false],
  [on("cdu/cdu1", "n001"), "node/n001/gpu/3", true],
  [on("cdu/cdu1", "n001"), "node/n002/gpu/3", false],
  [on("job/gemma"), "job/gemma/rank/24", true],
])("an incident on %o and the chart of %s", (incident, subject, expected) => {
  expect(about(incident, subject)).toBe(expected);
});
