/** Converts between a slider's position (0 to 1000) and a text with a unit, such as 90s or 2TB/s. The text is the value. */

export type Unit = "number" | "share" | "duration" | "size" | "bandwidth";

export interface Range {
  unit: Unit;
  from: number;
  to: number;
  /** Equal steps are equal ratios. */
  log?: boolean;
}

export const PLACES = 1000;

const DURATIONS: [string, number][] = [["d", 86_400], ["h", 3600], ["m", 60], ["s", 1]];
const SIZES: [string, number][] = [["PB", 1e15], ["TB", 1e12], ["GB", 1e9], ["MB", 1e6]];

function units(unit: Unit): [string, number][] {
  if (unit === "duration") return [...DURATIONS, ["min", 60], ["ms", 0.001], ["w", 604_800]];
  if (unit === "size") return SIZES;
  if (unit === "bandwidth") return SIZES.map(([name, scale]) => [`${name}/s`, scale]);
  return unit === "share" ? [["%", 0.01], ["", 1]] : [["", 1]];
}

/** Null if the text is not a quantity: the slider then stays, and the controller names the error. */
export function read(text: string, unit: Unit): number | null {
  const found = /^\s*([0-9][0-9_,]*\.?[0-9]*(?:e[+-]?[0-9]+)?|\.[0-9]+)\s*([A-Za-z%/]*)\s*$/i.exec(text);
  const scale = units(unit).find(([name]) => name === found?.[2])?.[1];
  return found?.[1] === undefined || scale === undefined ? null : Number(found[1].replace(/[_,]/g, "")) * scale;
}

function rounded(value: number): string {
  const digits = Number(value.toPrecision(value >= 100 ? 3 : 2));
  return String(digits);
}

export function write(value: number, unit: Unit): string {
  if (unit === "number") return value >= 10 ? String(Math.round(Number(value.toPrecision(3)))) : rounded(value);
  if (unit === "share") return String(Number(value.toFixed(4)));
  const known = unit === "duration" ? DURATIONS : units(unit);
  const [name, scale] = known.find(([, size]) => value >= size) ?? known[known.length - 1] ?? ["", 1];
  return `${rounded(value / scale)}${name}`;
}

export function place(text: string, { unit, from, to, log }: Range): number {
  const value = read(text, unit);
  if (value === null) return 0;
  const at = log ? Math.log(Math.max(value, from) / from) / Math.log(to / from) : (value - from) / (to - from);
  return Math.round(Math.min(1, Math.max(0, at)) * PLACES);
}

export function at(placed: number, { unit, from, to, log }: Range): string {
  const share = placed / PLACES;
  return write(log ? from * (to / from) ** share : from + share * (to - from), unit);
}
