import { expect, test } from "vitest";
import type { NodeView } from "../api";
import { filterFrom, toggleWord } from "./filter";

const NODE: NodeView = {
  name: "n017", pool: "train", place: { rack: "r1", leaf: "l3" }, stage: "draining", since: 0,
  reason: "Xid 79 on GPU 3", cause: "gpu_xid", health: "fail", repair_step: 1, tested_at: null, last_report_at: null,
  degraded_by: "", held: "", jobs: ["llama", "probe"], twin: false,
};

test.each([
  ["", true],
  ["n01", true],
  ["XID 79", true],
  ["n017 quarantined", false],
  ["rack:r1", true],
  ["rack:r", false],
  ["rack:r10", false],
  ["stage:ready,draining", true],
  ["stage:ready", false],
  ["job:probe", true],
  ["reason:gpu", true],
  ["nosuchkey:x", false],
])("the filter %j matches the node: %s", (text, expected) => {
  const matches = filterFrom(text);
  expect(matches === null || matches(NODE)).toBe(expected);
});

test("a word clicked twice is gone again", () => {
  const once = toggleWord("n0", "stage:ready");
  expect(once).toBe("n0 stage:ready");
  expect(toggleWord(once, "stage:ready")).toBe("n0");
});
