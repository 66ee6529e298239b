/** The time range of the charts, from the address. */

export const RANGES = [
  { name: "15m", label: "15 min", hours: 0.25 },
  { name: "1h", label: "1 h", hours: 1 },
  { name: "6h", label: "6 h", hours: 6 },
  { name: "24h", label: "24 h", hours: 24 },
  { name: "7d", label: "7 days", hours: 168 },
] as const;
export type Range = (typeof RANGES)[number];

export function rangeOf(name: string | undefined): Range {
  return RANGES.find((one) => one.name === name) ?? RANGES[1];
}

/** Number of ranges between the end of the charts and now; 0 is now. */
export function backOf(text: string | undefined): number {
  const back = Number(text ?? 0);
  return Number.isInteger(back) && back > 0 ? Math.min(back, 1000) : 0;
}

export interface Span {
  from: number;
  to: number;
}

/** The shown span, on the controller's clock. */
export function spanOf(range: Range, back: number, factor: number, now: number): Span {
  const seconds = (range.hours * 3600) / factor;
  const to = now - back * seconds;
  return { from: to - seconds, to };
}

/** "-40 min", "-3 h", "now": the distance of a time from the end of a chart, in fleet time. */
export function before(seconds: number): string {
  if (seconds < 30) return "now";
  if (seconds < 5400) return `-${Math.round(seconds / 60)} min`;
  if (seconds < 172_800) return `-${Number((seconds / 3600).toFixed(1))} h`;
  return `-${Number((seconds / 86_400).toFixed(1))} d`;
}
