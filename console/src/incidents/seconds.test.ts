import { expect, test } from "vitest";
import { secondsOf } from "./seconds";

test("it lasts as long as its bill says, which is in the fleet's time", () => {
  const account = { since: 100, lasted_seconds: 2400 } as never;
  expect(secondsOf({ opened: 160, closed: null, account }, 220, 25)).toBe(2400);
  expect(secondsOf({ opened: 160, closed: 200, account }, 999, 25)).toBe(2400);
});

test("without a bill, from when it opened until it closed", () => {
  expect(secondsOf({ opened: 160, closed: null, account: null }, 220, 1)).toBe(60);
  expect(secondsOf({ opened: 160, closed: 200, account: null }, 999, 25)).toBe(1000);
  expect(secondsOf({ opened: 160, closed: null, account: null }, 100, 1)).toBe(0);
});
