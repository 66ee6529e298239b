import { expect, test } from "vitest";
import { PLACES, at, place, read, write, type Range } from "./scale";

const WRITE: Range = { unit: "duration", from: 1, to: 3600, log: true };

test.each([
  ["90s", "duration", 90],
  ["2 h", "duration", 7200],
  ["2TB/s", "bandwidth", 2e12],
  ["95%", "share", 0.95],
  ["1,024", "number", 1024],
] as const)("%s is read as %s", (text, unit, value) => expect(read(text, unit)).toBeCloseTo(value));

test.each(["", "soon", "1h30m", "5 parsecs"])("what is no single quantity moves no slider: %j", (text) => {
  expect(read(text, "duration")).toBeNull();
  expect(place(text, WRITE)).toBe(0);
});

test("what a slider writes it finds again", () => {
  for (let placed = 0; placed <= PLACES; placed += 25) expect(place(at(placed, WRITE), WRITE)).toBeCloseTo(placed, -1.2);
});

test.each([
  [5, "duration", "5s"],
  [259_200, "duration", "3d"],
  [5e12, "size", "5TB"],
  [0.99, "share", "0.99"],
  [16_384, "number", "16400"],
] as const)("%d is written as people do", (value, unit, text) => expect(write(value, unit)).toBe(text));

test("beyond its ends a slider stands at them", () => {
  expect(place("9d", WRITE)).toBe(PLACES);
  expect(place("1ms", WRITE)).toBe(0);
});
