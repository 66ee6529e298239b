import { expect, test } from "vitest";
import type { Stage } from "../api";
import { Outings } from "./outings";

function news(outings: Outings, ...stages: Stage[]): boolean[] {
  return stages.slice(1).map((after, i) => outings.isRelevant({ node: "n1", before: stages[i] ?? after, after }));
}

test("a round of jobs is no news", () => {
  const outings = new Outings();
  expect(news(outings, "ready", "allocated", "cleaning", "testing", "ready")).toEqual([false, false, false, false]);
});

test("leaving service is news, until the node is back", () => {
  const outings = new Outings();
  const round = news(outings, "allocated", "draining", "quarantined", "resetting", "testing", "ready", "allocated");
  expect(round).toEqual([true, true, true, true, true, false]);
});

test("a step that changes nothing is no news", () => {
  expect(news(new Outings(), "draining", "draining")).toEqual([false]);
});
