import { expect, test } from "vitest";
import type { EdgeView, Incident, NodeView } from "../api";
import { litBy, mapOf, worstOf } from "./map";

function node(name: string, place: Record<string, string>, health: NodeView["health"] = "pass"): NodeView {
  return { name, place, health, stage: "ready" } as unknown as NodeView;
}

const NODES = [
  node("n10", { rack: "r2", loop: "loop1", leaf: "leaf1", feed: "a" }),
  node("n2", { rack: "r1", loop: "loop1", leaf: "leaf1", feed: "a" }, "degraded"),
  node("n1", { rack: "r1", loop: "loop1", leaf: "leaf2", feed: "b" }),
  node("n3", { rack: "r3" }, "fail"),
];
const EDGES: EdgeView[] = [
  { kind: "cools", source: "cdu/c1", target: "loop/loop1" },
  { kind: "connects", source: "spine/s1", target: "switch/leaf1" },
  { kind: "powers", source: "feed/a", target: "loop/loop1" },
];

test("loops hold racks in natural order, with what cools and powers them", () => {
  const [none, loop] = mapOf(NODES, EDGES).loops;
  expect(none?.name).toBe("");
  expect(loop?.coolers).toEqual(["cdu/c1"]);
  expect(loop?.racks.map((rack) => [rack.name, rack.feeds, rack.nodes.map((one) => one.name)])).toEqual([
    ["r1", ["a", "b"], ["n1", "n2"]],
    ["r2", ["a"], ["n10"]],
  ]);
});

test("a leaf has the spines that the topology file connects to its switch; a node without a leaf is in none", () => {
  expect(mapOf(NODES, EDGES).leaves.map((leaf) => [leaf.name, leaf.spines, leaf.nodes.length])).toEqual([
    ["leaf1", ["spine/s1"], 2],
    ["leaf2", [], 1],
  ]);
});

test("the worst health speaks for a rack: failing, then unknown, then degraded", () => {
  expect(worstOf(NODES)).toBe("fail");
  expect(worstOf(NODES.slice(0, 3))).toBe("degraded");
  expect(worstOf([node("a", {}, "unknown"), node("b", {}, "degraded")])).toBe("unknown");
  expect(worstOf([])).toBe("pass");
});

test("an incident lights its root, the way and whom it reaches", () => {
  const incident = {
    subject: "switch/leaf1",
    evidence: ["n2", "port 3"],
    account: { path: ["cdu/c1 > loop/loop1 > node/n1/gpu/3"], symptoms: ["job/llama"] },
  } as unknown as Incident;
  expect([...litBy(incident, NODES)].toSorted()).toEqual(["cdu/c1", "job/llama", "leaf/leaf1", "loop/loop1", "node/n1", "node/n2", "port 3"]);
});
