/** Times as people on call read them. */

import { signal } from "@preact/signals";

const UNITS: [seconds: number, name: string][] = [
  [86_400, "d"],
  [3_600, "h"],
  [60, "min"],
];

export function age(from: number, now: number): string {
  const seconds = Math.max(0, Math.round(now - from));
  const [size, name] = UNITS.find(([unit]) => seconds >= unit) ?? [1, "s"];
  return `${Math.floor(seconds / size)} ${name}`;
}

/** A signal, so that what was drawn before the clock was known is drawn again. */
const fleetClock = signal({ began: 0, factor: 1 });

/** A simulated fleet's clock: equal to the controller's at one moment, and so many times as fast. */
export function setFleetClock(from: number, timesAsFast: number): void {
  const { began, factor } = fleetClock.peek();
  if (began !== from || factor !== timesAsFast) fleetClock.value = { began: from, factor: timesAsFast };
}

/** A moment of the controller's clock, by the clock of the fleet. */
export function inFleetTime(at: number): number {
  const { began, factor } = fleetClock.value;
  return factor === 1 ? at : began + (at - began) * factor;
}

const clock = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium" });
const calendar = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium" });

/** A number is a moment of the fleet; a Date is one of this browser, such as a lost connection. */
export function timeOfDay(at: number | Date): string {
  return clock.format(typeof at === "number" ? new Date(inFleetTime(at) * 1000) : at);
}

const minutes = new Intl.DateTimeFormat("en-GB", { timeStyle: "short" });
const short = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });

/** A moment on an axis: the minute is enough, and over more than a day its date belongs to it. */
export function axisTime(at: number, spanSeconds: number): string {
  return (spanSeconds > 86_400 ? short : minutes).format(new Date(inFleetTime(at) * 1000));
}

export function day(at: number): string {
  return calendar.format(new Date(inFleetTime(at) * 1000));
}
