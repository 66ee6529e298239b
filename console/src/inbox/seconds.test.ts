import { expect, test } from "vitest";
import type { Incident } from "../api";
import { secondsOf } from "../incidents/seconds";
import { itemSeconds } from "./seconds";

const priced = { id: "cdu/c1@160", opened: 160, closed: null, account: { since: 100, lasted_seconds: 2400 } } as unknown as Incident;
const plain = { id: "leaf/l1@160", opened: 160, closed: null, account: null } as unknown as Incident;

test("an incident lasts as long in the inbox as in its own list", () => {
  for (const [one, since] of [[priced, 100], [plain, 160]] as const) {
    const item = { key: `incident/${one.id}`, since, lasted_seconds: 2300, ended_at: null };
    expect(itemSeconds(item, [priced, plain], 220, 25)).toBe(secondsOf(one, 220, 25));
  }
});

test("one that the stream does not have, and a group, last as the controller says", () => {
  expect(itemSeconds({ key: "incident/x@1", since: 1, lasted_seconds: 70, ended_at: null }, [], 99, 25)).toBe(70);
  expect(itemSeconds({ key: "group/sensor.lost", since: 1, lasted_seconds: 70, ended_at: null }, [], 99, 25)).toBe(70);
});

test("a node waits by the clock of the page, in the fleet's time", () => {
  expect(itemSeconds({ key: "node/n1@40", since: 40, lasted_seconds: 0, ended_at: null }, [], 100, 2)).toBe(120);
});

test("what is over does not grow", () => {
  expect(itemSeconds({ key: "node/n1@40", since: 40, lasted_seconds: 33, ended_at: 50 }, [], 100, 2)).toBe(33);
});
