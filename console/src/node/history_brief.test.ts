import { expect, test } from "vitest";
import type { HistoryEntry } from "../api";
import { brief, titleOf } from "./history_brief";

function verdict(at: number, check: string, after: string, before = ""): HistoryEntry {
  return { at, kind: "verdict", title: `${check}: ${before} -> ${after}`, detail: "", facts: { check, before, after } };
}

function action(at: number, number: number, state: string): HistoryEntry {
  return { at, kind: "action", title: `drain ${state}`, detail: "", facts: { action: number, state } };
}

test("first verdicts are one entry that names what did not pass", () => {
  const [only, ...more] = brief([verdict(3, "c", "unknown"), verdict(2, "b", "pass"), verdict(1, "a", "pass")]);
  expect(more).toEqual([]);
  expect(only?.title).toBe("3 first verdicts: 1 unknown, 2 pass");
  expect(only?.detail).toBe("unknown: c");
});

test("a verdict that changed stands alone", () => {
  const seen = brief([verdict(3, "a", "fail", "pass"), verdict(2, "b", "pass"), verdict(1, "a", "pass")]);
  expect(seen.map((entry) => entry.title)).toEqual(["a: pass -> fail", "2 first verdicts: 2 pass"]);
});

test("an action is seen when it ended, an open one as it stands", () => {
  const seen = brief([action(4, 1, "done"), action(3, 2, "proposed"), action(2, 1, "claimed"), action(1, 1, "proposed")]);
  expect(seen.map((entry) => entry.title)).toEqual(["drain done", "drain proposed"]);
});

test("arrows are arrows", () => expect(titleOf({ title: "ready -> allocated" })).toBe("ready → allocated"));
