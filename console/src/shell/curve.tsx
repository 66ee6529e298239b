/** Lines over an axis that is not time: shares by size, bandwidth by payload. As wide as the page allows. */

import { useEffect, useRef, useState } from "preact/hooks";
import { percent } from "./figures";
import { roundTimes, timeZoneSeconds } from "./time";

export interface CurveLine {
  name: string;
  points: readonly (readonly [number, number])[];
  /** A limit rather than a measurement: dashed. */
  limit?: boolean;
  /** Independent measurements: points, not a line. */
  dots?: boolean;
}

interface Drawn {
  title: string;
  across: string;
  up: string;
  lines: readonly CurveLine[];
  logX?: boolean;
  mark?: readonly [number, number] | null;
  /** Begin and end of the axis, independent of the data. */
  span?: readonly [number, number];
  tick?: (value: number) => string;
  /** A logarithmic axis: ticks are at its powers. */
  base?: number;
  /** A time axis in fleet seconds: ticks are at round times of day. */
  times?: boolean;
}

const HEIGHT = 300;
const EDGE = { left: 62, right: 14, top: 10, bottom: 44 };

const LETTER = 7;
const MOST_TICKS = 10;

/** A round number that divides a span into at least two and at most this many parts. */
export function step(span: number, most = MOST_TICKS): number {
  if (!(span > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(span));
  return [0.1, 0.2, 0.5, 1, 2, 5].map((part) => power * part).find((size) => span / size <= most) ?? power * 5;
}

export function ticks(low: number, high: number, log = false, base = 10, most = MOST_TICKS): number[] {
  if (log) {
    const first = Math.ceil(Math.log(low) / Math.log(base) - 1e-9);
    const last = Math.floor(Math.log(high) / Math.log(base) + 1e-9);
    const every = Math.ceil((last - first + 1) / Math.min(8, most));
    return Array.from({ length: Math.max(0, last - first + 1) }, (_, power) => base ** (first + power)).filter((_, at) => at % every === 0);
  }
  const size = step(high - low, most);
  const first = Math.ceil(low / size - 1e-9);
  return Array.from({ length: Math.floor(high / size + 1e-9) - first + 1 }, (_, number) => (first + number) * size);
}

export function figure(value: number): string {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-3) return value.toExponential(size < 1e-3 ? 1 : 0).replace("e+", "e");
  return Number(value.toPrecision(3)).toLocaleString("en");
}

function useWidth(): [{ current: HTMLDivElement | null }, number] {
  const box = useRef<HTMLDivElement | null>(null);
  const [width, setWidth] = useState(640);
  useEffect(() => {
    if (!box.current) return;
    const watch = new ResizeObserver(([entry]) => entry && setWidth(Math.max(240, entry.contentRect.width)));
    watch.observe(box.current);
    return () => watch.disconnect();
  }, []);
  return [box, width];
}

export function Curve({ title, across, up, lines, logX = false, mark, span, tick = figure, base = 10, times = false }: Drawn) {
  const [box, width] = useWidth();
  const points = [...lines.flatMap((line) => line.points), ...(mark ? [mark] : [])];
  if (points.length === 0) return <p class="faint">{title}: nothing to draw.</p>;
  const xs = [...points.map(([x]) => x), ...(span ?? [])];
  const [left, right] = [Math.min(...xs), Math.max(...xs)];
  const highest = Math.max(...points.map(([, y]) => y), 0);
  const size = step(highest);
  const top = highest > 0.4 && highest <= 1 ? 1 : Math.ceil(highest / size - 1e-9) * size || 1;
  const x = (value: number): number => {
    const share = logX ? Math.log(value / left) / Math.log(right / left || Math.E) : (value - left) / (right - left || 1);
    return EDGE.left + share * (width - EDGE.left - EDGE.right);
  };
  const y = (value: number): number => HEIGHT - EDGE.bottom - (value / top) * (HEIGHT - EDGE.top - EDGE.bottom);
  const bottom = HEIGHT - EDGE.bottom;
  const label = LETTER * (Math.max(tick(left).length, tick(right).length) + 2);
  const fitting = Math.min(MOST_TICKS, Math.max(2, Math.floor((width - EDGE.left - EDGE.right) / label)));
  return (
    <figure class="curve">
      <figcaption>{title}</figcaption>
      <div ref={box}>
        <svg width={width} height={HEIGHT} role="img" aria-label={`${title}: ${up} by ${across}`}>
          {ticks(0, top).map((value) => (
            <g key={value}>
              <line class="grid-line" x1={EDGE.left} x2={width - EDGE.right} y1={y(value)} y2={y(value)} />
              <text x={EDGE.left - 7} y={y(value) + 4} text-anchor="end">
                {up.endsWith("share") ? percent(value) : figure(value)}
              </text>
            </g>
          ))}
          {(times ? roundTimes(left, right, fitting, timeZoneSeconds(right)) : ticks(left, right, logX, base, fitting)).map((value) => (
            <g key={value}>
              <line class="axis" x1={x(value)} x2={x(value)} y1={bottom} y2={bottom + 5} />
              <text x={x(value)} y={bottom + 18} text-anchor="middle">
                {tick(value)}
              </text>
            </g>
          ))}
          <path class="axis" d={`M${EDGE.left} ${EDGE.top}V${bottom}H${width - EDGE.right}`} />
          <text x={(EDGE.left + width - EDGE.right) / 2} y={HEIGHT - 6} text-anchor="middle">
            {across}
          </text>
          <text x={14} y={(EDGE.top + bottom) / 2} text-anchor="middle" transform={`rotate(-90 14 ${(EDGE.top + bottom) / 2})`}>
            {up}
          </text>
          {lines
            .filter((line) => line.dots)
            .flatMap((line) => line.points.map((one, at) => <circle key={`${line.name} ${at}`} class="dot" cx={x(one[0])} cy={y(one[1])} r={3} />))}
          {lines.filter((line) => !line.dots).map((line, number) => (
            <polyline key={line.name} class={`line${number % 5} ${line.limit ? "limit" : ""}`} points={line.points.map((one) => `${x(one[0]).toFixed(1)},${y(one[1]).toFixed(1)}`).join(" ")} />
          ))}
          {mark && <circle class="mark" cx={x(mark[0])} cy={y(mark[1])} r={5} />}
        </svg>
      </div>
      {lines.length > 1 && (
        <ul class="key">
          {lines.map((line, number) => (
            <li key={line.name}>
              <svg width={26} height={10} aria-hidden="true">
                {line.dots ? <circle class="dot" cx={13} cy={5} r={3} /> : <polyline class={`line${number % 5} ${line.limit ? "limit" : ""}`} points="1,5 25,5" />}
              </svg>{" "}
              {line.name}
            </li>
          ))}
        </ul>
      )}
    </figure>
  );
}
