import { expect, test } from "vitest";
import { isSuspect, level } from "./matrix";

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
