/** One signal over time as a line on a given time span, so that several charts share one axis. */

import { measured, nameOf, ranging } from "./signals";
import { axisClock, inFleetTime, roundTimes, timeZoneSeconds } from "./time";

export interface Span {
  from: number;
  to: number;
}

export interface Line {
  start: number;
  step: number;
  values: readonly (number | null)[];
}

/** If there are more points than pixels, each section keeps its lowest and highest. */
const MOST_POINTS = 1200;
const WIDTH = 600;
const HEIGHT = 54;
const PAD = 4;

export function thinned(line: Line): Line {
  const stretch = Math.ceil((2 * line.values.length) / MOST_POINTS);
  if (stretch <= 2) return line;
  const values: (number | null)[] = [];
  for (let from = 0; from < line.values.length; from += stretch) {
    const seen = line.values.slice(from, from + stretch).filter((value) => value !== null);
    values.push(...(seen.length > 0 ? [Math.min(...seen), Math.max(...seen)] : [null, null]));
  }
  return { start: line.start, step: (line.step * stretch) / 2, values };
}

/** Pieces of a line between gaps: missing data is not drawn. */
export function pieces(line: Line, span: Span): string[] {
  const seen = line.values.filter((value) => value !== null);
  const low = Math.min(...seen);
  const reach = Math.max(...seen) - low || 1;
  const found: string[][] = [[]];
  line.values.forEach((value, at) => {
    if (value === null) {
      found.push([]);
      return;
    }
    const x = ((line.start + at * line.step - span.from) / (span.to - span.from || 1)) * WIDTH;
    const y = HEIGHT - PAD - ((value - low) / reach) * (HEIGHT - 2 * PAD);
    found.at(-1)?.push(`${x.toFixed(1)},${y.toFixed(1)}`);
  });
  return found.filter((points) => points.length > 0).map((points) => points.join(" "));
}

interface Drawn {
  about: string;
  signal: string;
  line: Line;
  span: Span;
  mark?: number;
}

export function Chart({ about, signal, line: whole, span, mark }: Drawn) {
  const line = thinned(whole);
  const seen = line.values.filter((value) => value !== null);
  const thinner = line === whole ? "" : `, ${whole.values.length.toLocaleString("en")} values reduced`;
  const words = seen.length > 0 ? `${ranging(signal, Math.min(...seen), Math.max(...seen))}${thinner}` : "no data";
  const title = `${about} ${nameOf(signal)}`;
  const at = mark === undefined ? null : ((mark - span.from) / (span.to - span.from || 1)) * WIDTH;
  return (
    <figure class="chart">
      <figcaption>
        {title} <span class="faint">{words}</span>
      </figcaption>
      <div class="plot">
        <span class="high" aria-hidden="true">{seen.length > 0 && measured(signal, Math.max(...seen))}</span>
        <span class="low" aria-hidden="true">{seen.length > 0 && measured(signal, Math.min(...seen))}</span>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={`${title}: ${words}`}>
        {at !== null && <line class="mark" x1={at} x2={at} y1={0} y2={HEIGHT} />}
        {pieces(line, span).map((points) => (
          <polyline key={points} points={points} />
        ))}
      </svg>
      </div>
    </figure>
  );
}

const TICKS = 6;

/** The time axis below all charts of one span, with round times of day. */
export function Axis({ span }: { span: Span }) {
  const [from, to] = [inFleetTime(span.from), inFleetTime(span.to)];
  return (
    <p class="axis times" aria-hidden="true">
      {roundTimes(from, to, TICKS, timeZoneSeconds(to)).map((at) => (
        <span key={at} style={{ left: `${(100 * (at - from)) / (to - from || 1)}%` }}>
          {axisClock(at, to - from)}
        </span>
      ))}
    </p>
  );
}
