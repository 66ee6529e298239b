import { useRef } from "preact/hooks";
import type { Bill } from "../api";
import { money } from "../shell/figures";
import { lasting } from "../shell/time";

const WIDTH = 600;
const HEIGHT = 96;
const MOST_POINTS = 400;

interface Point {
  hours: number;
  layers: readonly number[];
}

/** The stacked layers, from zero at the begin of the incident to the last reading. */
export function stacked(points: readonly Point[]): string[] {
  const last = points.at(-1);
  if (!last || last.hours <= 0) return [];
  const most = Math.max(1e-9, ...points.map((point) => point.layers.reduce((all, one) => all + one, 0)));
  const x = (point: Point): string => ((WIDTH * point.hours) / last.hours).toFixed(1);
  const y = (point: Point, layers: number): string => {
    const below = point.layers.slice(0, layers).reduce((all, one) => all + one, 0);
    return (HEIGHT * (1 - below / most)).toFixed(1);
  };
  return last.layers.map((_, layer) => {
    const upper = points.map((point) => `${x(point)},${y(point, layer + 1)}`);
    const lower = points.toReversed().map((point) => `${x(point)},${y(point, layer)}`);
    return [...upper, ...lower].join(" ");
  });
}

/** The growth of the cost while the page was open; earlier values are not known here. */
export function Growth({ bill }: { bill: Bill }) {
  const seen = useRef<Point[]>([{ hours: 0, layers: bill.layers.map(() => 0) }]);
  const layers = bill.layers.map((layer) => layer.so_far ?? 0);
  const before = seen.current.at(-1)!;
  if (bill.hours > before.hours) seen.current = [...seen.current.slice(-MOST_POINTS), { hours: bill.hours, layers }];
  const areas = stacked(seen.current);
  if (areas.length === 0) return null;
  const most = Math.max(...seen.current.map((point) => point.layers.reduce((all, one) => all + one, 0)));
  return (
    <div class="plot">
      <span class="high" aria-hidden="true">{money(most, bill.currency)}</span>
      <span class="low" aria-hidden="true">0</span>
    <svg class="growth" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label="Cost by layer, stacked, from the start until now">
      {areas.map((points, layer) => (
        <polygon key={layer} class={`layer${layer}`} points={points} />
      ))}
    </svg>
      <p class="axis" aria-hidden="true">
        <span>0</span>
        <span>a straight line until this page was opened</span>
        <span>{lasting((bill.hours ?? 0) * 3600)}</span>
      </p>
    </div>
  );
}
