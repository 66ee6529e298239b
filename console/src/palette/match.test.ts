import { expect, test } from "vitest";
import { matching, rank, type Entry } from "./match";

const entry = (name: string, kind = "node"): Entry => ({ name, kind, act: () => undefined });

test("the beginning of a name counts most, then the beginning of a word", () => {
  expect([rank("n017", "n01"), rank("node/n017", "n01"), rank("xn017", "n01"), rank("n017", "zz")]).toEqual([0, 1, 2, -1]);
});

test("every word must be found, in the name or in the kind", () => {
  const entries = [entry("leaf/leaf3: a leaf is bad", "incident"), entry("leaf3"), entry("n003")];
  expect(matching(entries, "leaf inc", 5).map(({ name }) => name)).toEqual(["leaf/leaf3: a leaf is bad"]);
  expect(matching(entries, "", 2)).toHaveLength(2);
});
