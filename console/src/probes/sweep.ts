/** Reads a sweep of `holdfast probe run --json` in the browser; the file is not uploaded. */

import type { CurveLine } from "../shell/curve";

const LARGEST_BYTES = 5_000_000;
const MOST_ROWS = 200;

interface Judged {
  check?: unknown;
  subjects?: unknown;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function passLine(verdicts: unknown): number | null {
  const judged = Array.isArray(verdicts) ? (verdicts as Judged[]) : [];
  const rows = judged.find((one) => isObject(one) && one.check === "sweep.bandwidth")?.subjects;
  const limit: unknown = Array.isArray(rows) && isObject(rows[0]) ? rows[0]["limit"] : null;
  return typeof limit === "number" ? limit : null;
}

/** The curve, and the limit to pass if its fabric has one. Throws if the file is not a sweep. */
export function readSweep(name: string, text: string): CurveLine[] {
  if (text.length > LARGEST_BYTES) throw new Error(`${name} is larger than a sweep: expected at most 5 MB`);
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch {
    throw new Error(`${name} is not JSON: expected the output of \`holdfast probe run --json\``);
  }
  const sweep = isObject(document) && Array.isArray(document["sweep"]) ? (document["sweep"] as unknown[]) : [];
  const points = sweep
    .slice(0, MOST_ROWS)
    .filter(isObject)
    .map((row) => [Number(row["bytes"]), Number(row["busbw_bytes_per_second"]) / 1e9] as const)
    .filter(([x, y]) => x > 0 && Number.isFinite(y));
  if (points.length < 2) throw new Error(`${name} has no sweep: expected a list "sweep" with bytes and busbw_bytes_per_second`);
  const limit = passLine(isObject(document) ? document["sweep_verdicts"] : null);
  const ends = [points[0]![0], points.at(-1)![0]] as const;
  const curve = { name, points };
  return limit === null ? [curve] : [curve, { name: `${name}: limit to pass`, limit: true, points: ends.map((x) => [x, limit / 1e9] as const) }];
}

export function bytes(value: number): string {
  const unit = [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10]].find(([, size]) => value >= Number(size));
  return unit ? `${Number((value / Number(unit[1])).toPrecision(2))} ${unit[0]}` : `${value} B`;
}
