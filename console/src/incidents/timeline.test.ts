import { expect, test } from "vitest";
import { grouped, sentence } from "./timeline";

test("what moved is shown with its unit", () => {
  expect(sentence("cdu/c2 cdu_flow_litres_per_minute: 239.7 -> 76.6")).toBe("cdu/c2 CDU flow from 239.7 l/min to 76.6 l/min");
  expect(sentence("node/n1/gpu/0 gpu_clock_sm_hertz: 1.755e+09 -> 1.246e+09")).toBe("node/n1/gpu/0 GPU clock SM from 1.755 GHz to 1.246 GHz");
});

test("evidence has its units too", () => {
  expect(sentence("node/n1/gpu/0 gpu_clock_sm_hertz went from 1.755e+09 to 1.246e+09 Hz")).toBe("node/n1/gpu/0 GPU clock SM from 1.755 GHz to 1.246 GHz");
  expect(sentence("job/g/rank/24 rank_compute_seconds went from 3.98 to 5.572 s")).toBe("job/g/rank/24 rank compute from 3.98 s to 5.572 s");
  expect(sentence("the other GPUs went from bad to worse")).toBe("the other GPUs went from bad to worse");
});

test("an event stays as it was said, but for its figures", () => {
  expect(sentence("switch/leaf1 route_change: 1.5e+03 routes, 20% of them")).toBe("switch/leaf1 route_change: 1,500 routes, 20 % of them");
});

test("many that moved alike are one line, the first of them", () => {
  const hot = [3, 1, 2].map((gpu) => ({ at: gpu, domain: "accelerators", text: `node/n1/gpu/${gpu} gpu_temperature_celsius: 60 -> 8${gpu}` }));
  const found = grouped([...hot, { at: 0, domain: "cooling", text: "cdu/c2 cdu_flow_litres_per_minute: 2 -> 1" }]);
  expect(found.map(({ at, count }) => [at, count])).toEqual([[0, 1], [1, 3]]);
  expect(found[1]?.words).toContain("node/n1/gpu/1");
});
