import { expect, test } from "vitest";
import { isSuspect, level, suspectsOf, suspicion } from "./slow_parts";

const part = (subject: string, confirmed: boolean) => ({ subject, confirmed, loss: 0.8, confidence: 0.5, slow: 1, measured: 1, evidence: [] });

test("what was slow once is no suspect before it is confirmed or has an incident", () => {
  const slow = part("trunk/leaf1+leaf4", false);
  expect(suspicion(slow, [])).toBe("");
  expect(suspicion(slow, [{ subject: "fabric/trunk/leaf1+leaf4" }])).toBe("an incident is open");
  expect(suspicion(slow, [{ subject: "fabric/trunk/leaf1+leaf3" }])).toBe("");
  expect(suspicion(part("node/n1", true), [])).toBe("confirmed with a good partner");
  expect(suspectsOf({ suspects: [slow, part("node/n1", true)] }, []).map((one) => one.subject)).toEqual(["node/n1"]);
});

const pair = { one: "l1", other: "l2", proven_at: 5, bytes_per_second: 1e9, ratio: 0.6 };

test("one slow meeting is shown, and only who is suspected is called slow", () => {
  expect(level(pair, false)).toBe("below");
  expect(level(pair, true)).toBe("slow");
  expect(level({ ...pair, ratio: 0.9 }, false)).toBe("usual");
  expect(level({ ...pair, proven_at: null }, true)).toBe("unproven");
});

test("a trunk is suspected from both ends, a leaf in all its pairs, a node in none", () => {
  expect([isSuspect("trunk/l2+l1", "l1", "l2"), isSuspect("trunk/l2+l1", "l1", "l3")]).toEqual([true, false]);
  expect([isSuspect("leaf/l1", "l1", "l9"), isSuspect("node/l1", "l1", "l9")]).toEqual([true, false]);
});
