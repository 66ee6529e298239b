/** Formats of times and durations. */

import { signal } from "@preact/signals";

const UNITS: [size: number, name: string, smaller: number, rest: string][] = [
  [86_400, "d", 3_600, "h"],
  [3_600, "h", 60, "min"],
  [60, "min", 60, ""],
];

/** 40 s, 24 min, 1 h 35 min, 2 d 3 h: durations as in the terminal (holdfast/config/quantities.py). Rounded down. */
export function lasting(seconds: number): string {
  const left = Math.max(0, Math.floor(seconds));
  const [size, name, smaller, rest] = UNITS.find(([unit]) => left >= unit) ?? [1, "s", 1, ""];
  const more = Math.floor((left % size) / smaller);
  return `${Math.floor(left / size)} ${name}${more > 0 ? ` ${more} ${rest}` : ""}`;
}

export function age(from: number, now: number): string {
  return lasting(now - from);
}

/** A signal, so that the page draws times again when the clock is known. */
const fleetClock = signal({ began: 0, factor: 1 });

/** A simulated fleet's clock: equal to the controller's at one time, and faster by a factor. */
export function setFleetClock(from: number, timesAsFast: number): void {
  const { began, factor } = fleetClock.peek();
  if (began !== from || factor !== timesAsFast) fleetClock.value = { began: from, factor: timesAsFast };
}

/** Converts a time of the controller's clock to the fleet's clock. */
export function inFleetTime(at: number): number {
  const { began, factor } = fleetClock.value;
  return factor === 1 ? at : began + (at - began) * factor;
}

/** A duration in fleet time. */
export function livedBetween(from: number, to: number): string {
  return lasting((to - from) * fleetClock.value.factor);
}

const clock = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium" });
const calendar = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium" });

/** A number is a fleet time; a Date is a time of this browser, such as that of a lost connection. */
export function timeOfDay(at: number | Date): string {
  return clock.format(typeof at === "number" ? new Date(inFleetTime(at) * 1000) : at);
}

const minutes = new Intl.DateTimeFormat("en-GB", { timeStyle: "short" });
const short = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });

/** A time on an axis: hours and minutes, with the date if the axis is longer than a day. */
export function axisTime(at: number, spanSeconds: number): string {
  return axisClock(inFleetTime(at), spanSeconds);
}

/** The same for a fleet time. */
export function axisClock(fleetTime: number, spanSeconds: number): string {
  return (spanSeconds > 86_400 ? short : minutes).format(new Date(fleetTime * 1000));
}

const ROUND_SECONDS = [60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400, 172_800, 604_800];

/** Round times of day (14:00, 14:15), at most this many; `zone`: seconds by which the reader is ahead of UTC. */
export function roundTimes(from: number, to: number, most: number, zone = 0): number[] {
  const size = ROUND_SECONDS.find((one) => (to - from) / one <= most) ?? ROUND_SECONDS.at(-1)!;
  const first = Math.ceil((from + zone) / size) * size - zone;
  return Array.from({ length: Math.max(0, Math.floor((to - first) / size) + 1) }, (_, at) => first + at * size);
}

export function timeZoneSeconds(at: number): number {
  return -60 * new Date(at * 1000).getTimezoneOffset();
}

/** The time of day; for another day with the date. */
export function moment(at: number, now: number): string {
  return day(at) === day(now) ? timeOfDay(at) : short.format(new Date(inFleetTime(at) * 1000));
}

export function day(at: number): string {
  return calendar.format(new Date(inFleetTime(at) * 1000));
}
