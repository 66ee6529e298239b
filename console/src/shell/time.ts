/** Times as people on call read them. */

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

const clock = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium" });
const calendar = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium" });

export function timeOfDay(at: number | Date): string {
  return clock.format(typeof at === "number" ? new Date(at * 1000) : at);
}

export function day(at: number): string {
  return calendar.format(new Date(at * 1000));
}
