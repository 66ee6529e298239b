import { expect, test } from "vitest";
import { secondsOf } from "./seconds";

test("it lasts from when it began, not from when it was noticed, in the fleet's own time", () => {
  const account = { since: 100 } as never;
  expect(secondsOf({ opened: 160, closed: null, account }, 220, 1)).toBe(120);
  expect(secondsOf({ opened: 160, closed: 200, account }, 999, 25)).toBe(2500);
  expect(secondsOf({ opened: 160, closed: null, account: null }, 100, 1)).toBe(0);
});
