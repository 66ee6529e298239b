import { expect, test } from "vitest";
import type { HistoryEntry } from "../api";
import { append, linesOf, renew } from "./history_text";

function entry(at: number, title = `at ${at}`): HistoryEntry {
  return { at, kind: "transition", title, detail: "", facts: {} };
}

test("an entry tells its reason and the facts a person asks for next", () => {
  const facts = { by: "holdfast", epoch: 4, evidence: ["Xid 79", "GPU 3"], cause: "gpu_xid", job: null };
  expect(linesOf({ detail: "GPU 3 fell off the bus", facts })).toEqual([
    "GPU 3 fell off the bus",
    "cause: gpu_xid",
    "evidence: Xid 79; GPU 3",
  ]);
  expect(linesOf({ detail: "", facts: { by: "anna" } })).toEqual(["by: anna"]);
});

test("a very long line is cut and says so", () => {
  expect(linesOf({ detail: "x".repeat(100_000), facts: {} })[0]).toMatch(/^x{600} … \(cut\)$/);
});

test("older pages append, each entry once", () => {
  expect(append([entry(3), entry(2)], [entry(2), entry(1)]).map((one) => one.at)).toEqual([3, 2, 1]);
});

test("the newest page is laid over what is known and older pages stay", () => {
  const known = { entries: [entry(3), entry(2), entry(1)], next: "cursor-1" };
  const renewed = renew(known, { entries: [entry(4), entry(3, "changed"), entry(2)], next: "cursor-2" });
  expect(renewed.entries.map((one) => one.title)).toEqual(["at 4", "changed", "at 2", "at 1"]);
  expect(renewed.next).toBe("cursor-1");
});

test("a page that no longer touches what is known replaces it, so that no gap is hidden", () => {
  const known = { entries: [entry(3), entry(2)], next: "" };
  const renewed = renew(known, { entries: [entry(90), entry(80)], next: "cursor" });
  expect(renewed.entries.map((one) => one.at)).toEqual([90, 80]);
  expect(renewed.next).toBe("cursor");
});
