/** Lines over time with an axis of values, a band of siblings, and marks for events. */

import { useEffect, useRef, useState } from "preact/hooks";
import { ticks as round } from "../shell/curve";
import { measured } from "../shell/signals";
import { axisClock, inFleetTime, roundTimes, timeOfDay, timeZoneSeconds } from "../shell/time";

export interface Mark {
  at: number;
  /** End of the mark; Infinity while it lasts. Omitted for a single time. */
  until?: number;
  kind: "verdict" | "event" | "incident";
  text: string;
}

export interface PlotLine {
  name: string;
  values: readonly (number | null)[];
  /** main, sibling or middle. */
  tone: "main" | "sibling" | "middle";
}

interface Drawn {
  title: string;
  /** Names the unit. */
  signal: string;
  times: readonly number[];
  lines: readonly PlotLine[];
  band?: { low: readonly (number | null)[]; high: readonly (number | null)[] };
  marks?: readonly Mark[];
  /** Speed of the fleet's clock. */
  factor: number;
  span: { from: number; to: number };
  zero?: boolean;
}

const HEIGHT = 190;
const ROOM = 24; // that half of a time of day needs
const EDGE = { left: 76, right: 10, top: 14, bottom: 26 };

function useWidth(): [{ current: HTMLDivElement | null }, number] {
  const box = useRef<HTMLDivElement | null>(null);
  const [width, setWidth] = useState(900);
  useEffect(() => {
    if (!box.current) return;
    const watch = new ResizeObserver(([entry]) => entry && setWidth(Math.max(260, entry.contentRect.width)));
    watch.observe(box.current);
    return () => watch.disconnect();
  }, []);
  return [box, width];
}

/** Lowest and highest drawn value, never equal. */
export function reach(rows: readonly (readonly (number | null)[])[], zero: boolean): [number, number] {
  const known = rows.flatMap((row) => row.filter((value): value is number => value !== null));
  if (known.length === 0) return [0, 1];
  const low = Math.min(...known, ...(zero ? [0] : []));
  const high = Math.max(...known);
  if (low === 0 && high === 0) return [0, 1];
  const room = (high - low || Math.abs(high) || 1) * 0.06;
  return [zero && low === 0 ? 0 : low - room, high + room];
}

/** A mark that began before the span and lasts into it is inside the span too. */
export function isWithin(mark: Pick<Mark, "at" | "until">, span: { from: number; to: number }): boolean {
  return mark.at <= span.to && (mark.until ?? mark.at) >= span.from;
}

/** "now 68.8 %, 58 % to 70 %"; a constant line has one value. */
export function extent(signal: string, values: readonly number[]): string {
  if (values.length === 0) return "no data";
  const [now, low, high] = [values.at(-1)!, Math.min(...values), Math.max(...values)].map((value) => measured(signal, value));
  return low === high ? `${now} all the time` : `now ${now}, ${low} to ${high}`;
}

/** Pieces of a line between gaps: missing values are not drawn. */
export function paths(values: readonly (number | null)[], x: (at: number) => number, y: (value: number) => number): string {
  let open = false;
  return values
    .map((value, at) => {
      if (value === null) {
        open = false;
        return "";
      }
      const step = `${open ? "L" : "M"}${x(at).toFixed(1)} ${y(value).toFixed(1)}`;
      open = true;
      return step;
    })
    .join("");
}

/** Values before the span are not drawn: the span moves between two answers. */
function inside(values: readonly (number | null)[], times: readonly number[], from: number): (number | null)[] {
  return values.map((value, at) => ((times[at] ?? 0) >= from ? value : null));
}

export function Plot({ title, signal, times, lines: whole, band: wide, marks = [], factor, span, zero = false }: Drawn) {
  const [box, width] = useWidth();
  const lines = whole.map((line) => ({ ...line, values: inside(line.values, times, span.from) }));
  const band = wide && { low: inside(wide.low, times, span.from), high: inside(wide.high, times, span.from) };
  const [low, high] = reach([...lines.map((line) => line.values), ...(band ? [band.low, band.high] : [])], zero);
  const bottom = HEIGHT - EDGE.bottom;
  const across = (at: number): number => EDGE.left + ((at - span.from) / (span.to - span.from || 1)) * (width - EDGE.left - EDGE.right);
  const along = (fleetTime: number): number => EDGE.left + ((fleetTime - inFleetTime(span.from)) / (inFleetTime(span.to) - inFleetTime(span.from) || 1)) * (width - EDGE.left - EDGE.right);
  const x = (place: number): number => across(times[place] ?? span.to);
  const y = (value: number): number => bottom - ((value - low) / (high - low)) * (bottom - EDGE.top);
  const ticks = Math.max(2, Math.min(6, Math.floor(width / 160)));
  const shown = marks.filter((mark) => isWithin(mark, span));
  const main = lines.find((line) => line.tone === "main")?.values.filter((value) => value !== null) ?? [];
  const words = extent(signal, main);
  const [pointed, setPointed] = useState<number | null>(null);
  const point = (event: MouseEvent & { currentTarget: SVGSVGElement }): void => {
    const here = event.clientX - event.currentTarget.getBoundingClientRect().left;
    setPointed(nearest(times, (at) => Math.abs(across(at) - here), span.from));
  };
  return (
    <figure class="plot-over-time">
      <figcaption>
        {title} <span class="faint">{words}</span>
      </figcaption>
      <div ref={box}>
        <svg width={width} height={HEIGHT} role="img" aria-label={`${title}: ${words}`} onMouseMove={point} onMouseLeave={() => setPointed(null)}>
          {round(low, high, false, 10, 5).map((value) => (
            <g key={value}>
              <line class="grid-line" x1={EDGE.left} x2={width - EDGE.right} y1={y(value)} y2={y(value)} />
              <text x={EDGE.left - 6} y={y(value) + 4} text-anchor="end">
                {measured(signal, value)}
              </text>
            </g>
          ))}
          {roundTimes(inFleetTime(span.from), inFleetTime(span.to), ticks, timeZoneSeconds(inFleetTime(span.to))).map((at) => (
            <text key={at} x={along(at)} y={HEIGHT - 6} text-anchor={along(at) < EDGE.left + ROOM ? "start" : along(at) > width - EDGE.right - ROOM ? "end" : "middle"}>
              {axisClock(at, (span.to - span.from) * factor)}
            </text>
          ))}
          {shown.map((mark, number) => mark.until !== undefined && <During key={number} from={across(Math.max(mark.at, span.from))} to={across(Math.min(mark.until, span.to))} bottom={bottom} />)}
          {band && <Band band={band} x={x} y={y} />}
          {lines.map((line) => (
            <path key={line.name} class={`line ${line.tone}`} d={paths(line.values, x, y)}>
              <title>{line.name}</title>
            </path>
          ))}
          {pointed !== null && <Reading at={pointed} times={times} lines={lines} signal={signal} x={x} bottom={bottom} width={width} />}
          {shown.filter((mark) => mark.at >= span.from).map((mark, number) => (
            <g key={number} class={`moment ${mark.kind}`}>
              <line x1={across(mark.at)} x2={across(mark.at)} y1={EDGE.top} y2={bottom} />
              <path d={`M${across(mark.at) - 5} ${EDGE.top - 8}h10l-5 8z`}>
                <title>{mark.text}</title>
              </path>
            </g>
          ))}
        </svg>
      </div>
    </figure>
  );
}

/** The duration of an incident, drawn behind the lines. */
function During({ from, to, bottom }: { from: number; to: number; bottom: number }) {
  return <rect class="during" x={from} y={EDGE.top} width={Math.max(1, to - from)} height={bottom - EDGE.top} />;
}

/** The index of the nearest time; null if nothing is drawn. */
function nearest(times: readonly number[], distance: (at: number) => number, from: number): number | null {
  let [best, least] = [null as number | null, Infinity];
  times.forEach((at, place) => {
    if (at >= from && distance(at) < least) [best, least] = [place, distance(at)];
  });
  return best;
}

interface ReadingProps {
  at: number;
  times: readonly number[];
  lines: readonly PlotLine[];
  signal: string;
  x: (place: number) => number;
  bottom: number;
  width: number;
}

/** The values under the pointer, as text at the top of the chart. */
function Reading({ at, times, lines, signal, x, bottom, width }: ReadingProps) {
  const readings = lines
    .filter((line) => line.tone !== "sibling")
    .map((line) => `${line.tone === "main" ? "" : `${line.name} `}${line.values[at] == null ? "no data" : measured(signal, line.values[at])}`);
  const left = x(at) < width / 2;
  return (
    <g class="pointed">
      <line x1={x(at)} x2={x(at)} y1={EDGE.top} y2={bottom} />
      <text x={x(at) + (left ? 6 : -6)} y={EDGE.top + 10} text-anchor={left ? "start" : "end"}>
        {[timeOfDay(times[at] ?? 0), ...readings].join("  ")}
      </text>
    </g>
  );
}

function Band({ band, x, y }: { band: { low: readonly (number | null)[]; high: readonly (number | null)[] }; x: (at: number) => number; y: (value: number) => number }) {
  const known = band.low.flatMap((low, at) => (low !== null && band.high[at] != null ? [[at, low, band.high[at]] as const] : []));
  if (known.length < 2) return null;
  const up = known.map(([at, , high]) => `${x(at).toFixed(1)},${y(high).toFixed(1)}`);
  const down = known.toReversed().map(([at, low]) => `${x(at).toFixed(1)},${y(low).toFixed(1)}`);
  return <polygon class="band" points={[...up, ...down].join(" ")} />;
}
