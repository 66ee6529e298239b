import { expect, test } from "vitest";
import { graph, whole } from "./graph";

test("a path that is the beginning of another is not told twice", () => {
  expect(whole(["node/n1/gpu/0 > job/gemma/rank/24 > job/gemma", "node/n1/gpu/0 > job/gemma/rank/24", "node/n1/gpu/0 > job/gemma/rank/2"])).toEqual([
    "node/n1/gpu/0 > job/gemma/rank/24 > job/gemma",
    "node/n1/gpu/0 > job/gemma/rank/2",
  ]);
});

test("paths that share a beginning are one graph in columns", () => {
  const found = graph(["cdu/c2 > rack/r1 > node/n1 > job/llama", "cdu/c2 > rack/r1 > node/n2 > job/llama"]);
  expect(found.boxes.map(({ words, column }) => [words, column])).toEqual([
    ["cdu/c2", 0],
    ["rack/r1", 1],
    ["node/n1", 2],
    ["node/n2", 2],
    ["job/llama", 3],
  ]);
  expect(found.edges).toHaveLength(5);
  expect([found.columns, found.rows]).toEqual([4, 2]);
});

test("many of a kind are one box", () => {
  const found = graph(Array.from({ length: 50 }, (_, at) => `cdu/c2 > node/n${at} > job/llama`));
  expect(found.boxes.map(({ words }) => words)).toEqual(["cdu/c2", "50 × node", "job/llama"]);
  expect(found.edges).toHaveLength(2);
});

test("a circle and an empty path end", () => {
  expect(graph(["a/1 > b/1 > a/1"]).boxes.length).toBe(2);
  expect(graph([""]).boxes).toEqual([]);
});

test("the nodes of all victims count, not only those that a path shows", () => {
  const paths = [1, 2].map((at) => `cdu/c2 > rack/r${at} > node/n${at} > node/n${at}/gpu/0`);
  const victims = Array.from({ length: 62 }, (_, at) => `node/n${Math.floor(at / 2)}/gpu/${at % 2}`);
  expect(graph(paths, victims).boxes.map(({ words }) => words)).toEqual(["cdu/c2", "rack/r1", "rack/r2", "31 × node", "62 × gpu"]);
  const few = graph(paths, victims.slice(0, 4)).boxes.map(({ words }) => words);
  expect(few).toContain("node/n1");
});
