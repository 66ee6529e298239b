import { afterEach, expect, test } from "vitest";
import { axisTime, inFleetTime, setFleetClock, timeOfDay } from "./time";

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

test("an axis over more than a day names the date", () => {
  expect(axisTime(NOON, 3600)).toBe("12:00");
  expect(axisTime(NOON, 7 * 86_400)).toContain("17 Nov");
});
