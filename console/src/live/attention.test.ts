import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { followAttention } from "./attention";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function tab(hidden = false): { told: string[]; turn: (hidden: boolean) => void } {
  const page = Object.assign(new EventTarget(), { hidden });
  const told: string[] = [];
  followAttention(page as unknown as Document, { away: () => told.push("away"), back: () => told.push("back") });
  const turn = (now: boolean): void => {
    page.hidden = now;
    page.dispatchEvent(new Event("visibilitychange"));
  };
  return { told, turn };
}

test("a tab hidden for a while is away, and back once it is seen", () => {
  const { told, turn } = tab();
  turn(true);
  expect(told).toEqual([]);
  vi.advanceTimersByTime(60_000);
  expect(told).toEqual(["away"]);
  turn(false);
  expect(told).toEqual(["away", "back"]);
});

test("a glance at another tab changes nothing", () => {
  const { told, turn } = tab();
  turn(true);
  vi.advanceTimersByTime(1_000);
  turn(false);
  vi.advanceTimersByTime(60_000);
  expect(told).toEqual([]);
});

test("a tab opened in the background and never seen is away too", () => {
  const { told } = tab(true);
  vi.advanceTimersByTime(60_000);
  expect(told).toEqual(["away"]);
});
