import { afterEach, expect, test } from "vitest";
import { age, axisTime, inFleetTime, lasting, moment, roundTimes, setFleetClock, timeOfDay } from "./time";

afterEach(() => setFleetClock(0, 1));

const NOON = new Date(2026, 10, 17, 12, 0, 0).getTime() / 1000;

test("a fleet that lives by the clock has its times", () => {
  setFleetClock(NOON, 1);
  expect(inFleetTime(NOON + 60)).toBe(NOON + 60);
  expect(timeOfDay(NOON + 60)).toBe("12:01:00");
});

test("a simulated fleet's times of day agree with its durations", () => {
  setFleetClock(NOON, 20);
  expect(timeOfDay(NOON)).toBe("12:00:00");
  expect(timeOfDay(NOON + 60)).toBe("12:20:00");
  expect(timeOfDay(new Date(NOON * 1000 + 60_000))).toBe("12:01:00"); // of this browser
});

test("a moment of another day names the day", () => {
  expect(moment(NOON, NOON + 3600)).toBe("12:00:00");
  expect(moment(NOON, NOON + 86_400)).toContain("17 Nov");
  setFleetClock(NOON, 20);
  expect(moment(NOON, NOON + 3600)).toContain("17 Nov"); // twenty hours later by the fleet's clock
});

test("an axis over more than a day names the date", () => {
  expect(axisTime(NOON, 3600)).toBe("12:00");
  expect(axisTime(NOON, 7 * 86_400)).toContain("17 Nov");
});

// tests/model/test_duration.py reads this table: the terminal and the controller's sentences have the same words.
const DURATIONS = [
  [-5, "0 s"],
  [0.9, "0 s"],
  [59.9, "59 s"],
  [60, "1 min"],
  [119, "1 min"],
  [3599, "59 min"],
  [3600, "1 h"],
  [3659, "1 h"],
  [5700, "1 h 35 min"],
  [86399, "23 h 59 min"],
  [86400, "1 d"],
  [183600, "2 d 3 h"]
];

test.each(DURATIONS as [number, string][])("%d seconds last %s", (seconds, shown) => {
  expect(lasting(seconds)).toBe(shown);
  expect(age(1000, 1000 + seconds)).toBe(shown);
});

test("an axis has times that a clock shows, in the reader's zone, and not more than fit", () => {
  const start = Date.UTC(2026, 10, 18, 13, 17, 40) / 1000;
  const told = (found: number[], zone = 0) => found.map((at) => new Date((at + zone) * 1000).toISOString().slice(11, 16));
  expect(told(roundTimes(start, start + 3600, 6))).toEqual(["13:20", "13:30", "13:40", "13:50", "14:00", "14:10"]);
  expect(told(roundTimes(start, start + 3600, 2))).toEqual(["13:30", "14:00"]);
  expect(told(roundTimes(start, start + 86_400, 6))).toEqual(["18:00", "00:00", "06:00", "12:00"]);
  expect(told(roundTimes(start, start + 86_400, 6, 19_800), 19_800)).toEqual(["00:00", "06:00", "12:00", "18:00"]);
});
