import { expect, test } from "vitest";
import { bytes, readSweep } from "./sweep";

const SWEEP = [1024, 1048576].map((size) => ({ bytes: size, busbw_bytes_per_second: size * 1e5 }));

test("a sweep is a curve, and its limit a line across it", () => {
  const sweep_verdicts = [{ check: "sweep.bandwidth", subjects: [{ limit: 5e10 }] }];
  const [curve, limit] = readSweep("a.json", JSON.stringify({ sweep: SWEEP, sweep_verdicts }));
  expect(curve?.points).toEqual([[1024, 0.1024], [1048576, 104.8576]]);
  expect(limit?.limit && limit.points).toEqual([[1024, 50], [1048576, 50]]);
});

test.each(["{", "[]", "{}", '{"sweep":[1,null,{"bytes":"x"}]}', '{"sweep":{}}', "null"])("what is none is refused in a sentence: %s", (text) => {
  expect(() => readSweep("b.json", text)).toThrow(/b\.json.*expected/);
});

test("payloads are said in their units", () => expect([bytes(512), bytes(8192), bytes(2 ** 30)]).toEqual(["512 B", "8 KiB", "1 GiB"]));
