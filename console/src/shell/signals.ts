/** Readable names and values of signals, whose unit is in their name. */

import { percent, reading } from "./figures";

interface Unit {
  ending: string;
  sign: string;
  size: number;
}

const UNITS: readonly Unit[] = [
  { ending: "_litres_per_minute", sign: "l/min", size: 1 },
  { ending: "_bytes_per_second", sign: "GB/s", size: 1e9 },
  { ending: "_per_second", sign: "a second", size: 1 },
  { ending: "_celsius", sign: "°C", size: 1 },
  { ending: "_seconds", sign: "s", size: 1 },
  { ending: "_pascals", sign: "kPa", size: 1e3 },
  { ending: "_watts", sign: "W", size: 1 },
  { ending: "_hertz", sign: "GHz", size: 1e9 },
  { ending: "_volts", sign: "V", size: 1 },
  { ending: "_ratio", sign: "%", size: 0.01 },
  { ending: "_share", sign: "%", size: 0.01 },
];

const ACRONYMS = /\b(gpu|cdu|psu|sm)\b/g;

function unitOf(signal: string): Unit {
  return UNITS.find(({ ending }) => signal.endsWith(ending)) ?? { ending: "", sign: "", size: 1 };
}

/** gpu_clock_sm_hertz is "GPU clock SM". */
export function nameOf(signal: string): string {
  const words = signal.slice(0, signal.length - unitOf(signal).ending.length).replaceAll("_", " ");
  return words.replace(ACRONYMS, (word) => word.toUpperCase());
}

/** 1.76e9 of gpu_clock_sm_hertz is "1.76 GHz". */
export function measured(signal: string, value: number): string {
  const { sign, size } = unitOf(signal);
  if (sign === "%") return percent(value); // as on every other view
  return `${reading(value / size)}${sign && ` ${sign}`}`;
}

/** "76.3 to 240 l/min". */
export function ranging(signal: string, low: number, high: number): string {
  const { sign, size } = unitOf(signal);
  return `${reading(low / size)} to ${reading(high / size)}${sign && ` ${sign}`}`;
}
