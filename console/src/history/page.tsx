/** The history: any signal, goodput and cost over time, and the availability of nodes by hour. */

import "./history.css";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { FigureSample } from "../api";
import { ask, fleet, lived, now } from "../live/session";
import { useAnswer } from "../live/use_answer";
import { useNodes } from "../live/use_nodes";
import { percent } from "../shell/figures";
import { route, setAsked } from "../shell/route";
import { axisTime } from "../shell/time";
import { View } from "../shell/view";
import { hours, inPercent, type Hour } from "./calendar";
import { Plot } from "./plot";
import { backOf, before, RANGES, rangeOf, spanOf, type Range, type Span } from "./range";
import { SignalHistory } from "./signal";

const REFRESH_SECONDS = 15;
const CALENDAR_HOURS = 168;
const HOURS_A_ROW = 24;
const MOST_MOVES = 10_000;
const MOST_NAMES = 500;

function RangePicker({ range, back, span }: { range: Range; back: number; span: Span }) {
  const shift = (steps: number) => setAsked({ back: steps > 0 ? String(steps) : "" });
  const length = range.hours * 3600;
  return (
    <div class="toolbar" role="group" aria-label="Time range">
      {RANGES.map(({ name, label }) => (
        <button key={name} type="button" aria-pressed={name === range.name} onClick={() => setAsked({ range: name, back: "" })}>
          {label}
        </button>
      ))}
      <span class="gap" />
      <button type="button" onClick={() => shift(back + 1)}>
        ← Earlier
      </button>
      <button type="button" disabled={back === 0} onClick={() => shift(back - 1)}>
        Later →
      </button>
      <button type="button" disabled={back === 0} onClick={() => shift(0)}>
        Now
      </button>
      <span class="faint">
        {axisTime(span.from, Math.max(length, 90_000))} to {back === 0 ? "now" : axisTime(span.to, Math.max(length, 90_000))}
      </span>
    </div>
  );
}

function column(samples: readonly FigureSample[], value: (one: FigureSample) => number | null | undefined): (number | null)[] {
  return samples.map((one) => value(one) ?? null);
}

function Fleet({ span, factor }: { span: Span; factor: number }) {
  const { value: home } = useAnswer(() => ask().home(500), "home history", REFRESH_SECONDS);
  const samples = (home?.history ?? []).filter(({ at }) => at >= span.from && at <= span.to);
  const times = samples.map((one) => one.at);
  const shared = { times, factor, span, zero: true };
  const oldest = home?.history[0]?.at;
  return (
    <section aria-label="Fleet">
      <h3>Fleet</h3>
      <div class="plot-room two">
        <Plot {...shared} title="Goodput" signal="goodput_ratio" lines={[{ name: "goodput", tone: "main", values: column(samples, (one) => (one.gpus ? (one.productive ?? 0) / one.gpus : null)) }]} />
        <Plot {...shared} title={`Compute lost, in ${home?.currency ?? "USD"} an hour`} signal="cost" lines={[{ name: "cost", tone: "main", values: column(samples, (one) => one.cost_per_hour) }]} />
      </div>
      <p class="faint">
        From the controller's memory{oldest === undefined ? "" : `, which begins ${lived(oldest)} ago`}: at most 24 h, and nothing from before it
        started.
      </p>
    </section>
  );
}

function Cell({ hour, to, factor }: { hour: Hour; to: number; factor: number }) {
  const words = hour.share === null ? "no node known" : `${percent(hour.share)} of node time in service, ${before((to - hour.from) * factor)}`;
  const level = hour.share === null ? "none" : hour.share >= 0.995 ? "full" : hour.share >= 0.95 ? "good" : hour.share >= 0.8 ? "less" : "low";
  return (
    <td class={level} title={words} aria-label={words}>
      {hour.share === null ? "" : inPercent(hour.share)}
    </td>
  );
}

function Availability({ factor }: { factor: number }) {
  const all = useNodes();
  const chosen = route.value.asked["node"] ?? "";
  const nodes = chosen ? all.filter(({ name }) => name === chosen) : all;
  const to = now();
  const seconds = 3600 / factor;
  const from = to - CALENDAR_HOURS * seconds;
  const { value: moves, trouble } = useAnswer(() => ask().transitions(from, MOST_MOVES), "moves", 4 * REFRESH_SECONDS);
  const began = Math.min(...(moves ?? []).map((move) => move.at), to);
  const known = moves ? hours(nodes, moves, from, to, seconds).map((hour) => (hour.from + seconds <= began ? { ...hour, share: null } : hour)) : [];
  const rows = Array.from({ length: Math.ceil(known.length / HOURS_A_ROW) }, (_, row) => known.slice(row * HOURS_A_ROW, (row + 1) * HOURS_A_ROW));
  const used = rows.filter((row) => row.some((hour) => hour.share !== null)).toReversed();
  const newest = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => newest.current?.scrollTo({ left: newest.current.scrollWidth }), [used.length]); // on a phone the last hours are to the right
  return (
    <section aria-label="Availability">
      <h3>Availability, hour by hour</h3>
      <label>
        Node{" "}
        <input type="search" list="node-names" placeholder="all nodes" value={chosen} onChange={(event) => setAsked({ node: event.currentTarget.value.trim() })} />
      </label>
      <datalist id="node-names">
        {all.slice(0, MOST_NAMES).map(({ name }) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      {chosen && nodes.length === 0 && all.length > 0 && <p class="trouble">No node is named {chosen}.</p>}
      {trouble && <p class="trouble">The transitions could not be read: {trouble}</p>}
      {(moves?.length ?? 0) >= MOST_MOVES && <p class="faint">There were more than {MOST_MOVES.toLocaleString("en")} transitions: later hours are not exact.</p>}
      <p class="faint">Percent of {chosen ? `the time of ${chosen}` : "all nodes' time"} in service, in each hour that begins at the time above it.</p>
      <div ref={newest} class="scroll calendar-room" role="region" aria-label="Share of node time in service, by hour" tabIndex={0}>
        <table class="calendar">
          <thead>
            <tr>
              <td />
              {(used[0] ?? []).map((hour) => (
                <th key={hour.from} scope="col">
                  {axisTime(hour.from, 0)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {used.map((row, number) => (
              <tr key={number}>
                <th scope="row">{number === 0 ? "last 24 h" : `${number * HOURS_A_ROW} h before`}</th>
                {row.map((hour) => (
                  <Cell key={hour.from} hour={hour} to={to} factor={factor} />
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

export function HistoryPage() {
  const range = rangeOf(route.value.asked["range"]);
  const back = backOf(route.value.asked["back"]);
  const factor = fleet.value?.time_factor ?? 1;
  const span = spanOf(range, back, factor, now());
  return (
    <View title="History">
      <div class="history">
        <RangePicker range={range} back={back} span={span} />
        <SignalHistory range={range} back={back} />
        <Fleet span={span} factor={factor} />
        <Availability factor={factor} />
      </div>
    </View>
  );
}
