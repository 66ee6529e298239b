import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { followAttention } from "./attention";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function tab(hidden = false): { seen: string[]; turn: (hidden: boolean) => void } {
  const page = Object.assign(new EventTarget(), { hidden });
  const seen: string[] = [];
  followAttention(page as unknown as Document, { away: () => seen.push("away"), back: () => seen.push("back") });
  const turn = (now: boolean): void => {
    page.hidden = now;
    page.dispatchEvent(new Event("visibilitychange"));
  };
  return { seen, turn };
}

test("a tab hidden for a while is away, and back once it is seen", () => {
  const { seen, turn } = tab();
  turn(true);
  expect(seen).toEqual([]);
  vi.advanceTimersByTime(60_000);
  expect(seen).toEqual(["away"]);
  turn(false);
  expect(seen).toEqual(["away", "back"]);
});

test("a glance at another tab changes nothing", () => {
  const { seen, turn } = tab();
  turn(true);
  vi.advanceTimersByTime(1_000);
  turn(false);
  vi.advanceTimersByTime(60_000);
  expect(seen).toEqual([]);
});

test("a tab opened in the background and never seen is away too", () => {
  const { seen } = tab(true);
  vi.advanceTimersByTime(60_000);
  expect(seen).toEqual(["away"]);
});
