/** Any signal of a subject next to its siblings, with marks for the subject's events. */

import { useState } from "preact/hooks";
import type { Incident, SeriesView } from "../api";
import { ask, fleet, incidents, now } from "../live/session";
import { useAnswer } from "../live/use_answer";
import { route, setAsked } from "../shell/route";
import { durationOf } from "../incidents/duration";
import { headline } from "../incidents/headline";
import { nameOf } from "../shell/signals";
import { day, timeOfDay } from "../shell/time";
import { about } from "./about";
import { isWithin, Plot, type Mark, type PlotLine } from "./plot";
import { spanOf, type Range } from "./range";

const REFRESH_SECONDS = 10;

/** Events of the subject's node, and incidents that name it. */
async function marksOf(subject: string): Promise<Mark[]> {
  const [kind = "", name = ""] = subject.split("/");
  const all: Incident[] = await ask().incidents();
  const opened = all.filter((one) => about(one, subject)).map(spanned);
  if (kind !== "node") return opened;
  const history = await ask().nodeHistory(name);
  const lines = history.entries
    .filter((entry) => entry.kind === "verdict" || entry.kind === "event")
    .map((entry): Mark => ({ at: entry.at, kind: entry.kind === "verdict" ? "verdict" : "event", text: `${entry.title}: ${entry.detail}` }));
  return [...opened, ...lines];
}

function spanned(one: Incident): Mark {
  const at = one.account?.since ?? one.opened;
  const words = `incident: ${headline(one)}, ${one.closed ? `lasted ${durationOf(one)}` : "open"}`;
  return { at, until: one.closed ?? Infinity, kind: "incident", text: words };
}

function linesOf(series: SeriesView): PlotLine[] {
  const few = series.lines.map((line): PlotLine => ({ name: line.subject, values: line.values, tone: "sibling" }));
  const middle: PlotLine[] = series.siblings > 0 ? [{ name: "median of its siblings", values: series.middle, tone: "middle" }] : [];
  return [...few, ...middle, { name: series.subject, values: series.values, tone: "main" }];
}

function Finder({ subject }: { subject: string }) {
  const [typed, setTyped] = useState("");
  const { value } = useAnswer(() => ask().subjects(typed.trim()), `find ${typed}`);
  const choose = (event: Event): void => {
    event.preventDefault();
    const wanted = typed.trim();
    const found = value?.subjects.find((one) => one.subject === wanted) ?? value?.subjects[0];
    if (found) setAsked({ subject: found.subject, signal: "" });
  };
  return (
    <form class="find" role="search" onSubmit={choose}>
      <label>
        Subject{" "}
        <input id="find" type="search" list="subjects" placeholder={subject} value={typed} onInput={(event) => setTyped(event.currentTarget.value)} />
      </label>
      <datalist id="subjects">
        {value?.subjects.map((one) => (
          <option key={one.subject} value={one.subject} />
        ))}
      </datalist>
      <button type="submit">Show</button>
      {value && value.subjects.length === 0 && <span class="faint">no signal of this subject is measured</span>}
    </form>
  );
}

export function SignalHistory({ range, back }: { range: Range; back: number }) {
  const factor = fleet.value?.time_factor ?? 1;
  const { asked } = route.value;
  const { value: first } = useAnswer(() => ask().subjects("cdu/"), "first");
  const { value: any } = useAnswer(() => ask().subjects(""), "any");
  const subject = asked["subject"] ?? first?.subjects[0]?.subject ?? any?.subjects[0]?.subject ?? "";
  const signal = asked["signal"] ?? "";
  const seconds = (range.hours * 3600) / factor;
  const key = `${subject} ${signal} ${range.name} ${back}`;
  const { value: series, trouble } = useAnswer(async () => (subject ? await ask().series(subject, signal, seconds, back * seconds) : null), key, REFRESH_SECONDS);
  const { value: marks } = useAnswer(() => (subject ? marksOf(subject) : Promise.resolve([])), `${subject} ${incidents.value.length}`, 3 * REFRESH_SECONDS);
  const span = spanOf(range, back, factor, now());
  return (
    <section aria-label="Signals">
      <h3>Signals</h3>
      <div class="toolbar">
        <Finder key={subject} subject={subject} />
        <label>
          Signal{" "}
          <select value={series?.signal ?? signal} onChange={(event) => setAsked({ subject, signal: event.currentTarget.value })}>
            {(series?.signals ?? []).map((one) => (
              <option key={one} value={one}>
                {nameOf(one)}
              </option>
            ))}
          </select>
        </label>
      </div>
      {/* Its height is fixed, so that nothing moves when an answer comes. */}
      <div class="plot-room">
        {series ? (
          <Plot
            title={`${series.subject} ${nameOf(series.signal)}`}
            signal={series.signal}
            times={series.times}
            lines={linesOf(series)}
            band={{ low: series.low, high: series.high }}
            marks={marks ?? []}
            factor={factor}
            span={span}
          />
        ) : (
          <p class="empty">{trouble || (any && !subject ? "No signal is measured yet. Signals of GPUs come with the agents' reports and need [seams] in the configuration." : "Loading …")}</p>
        )}
      </div>
      <div class="legend-room">{series && <Legend series={series} marks={(marks ?? []).filter((mark) => isWithin(mark, span))} />}</div>
    </section>
  );
}

function Legend({ series, marks }: { series: SeriesView; marks: readonly Mark[] }) {
  const source = series.source === "prometheus" ? "From Prometheus." : `Not from a time series database: ${series.note}.`;
  const compared = series.siblings > 0 ? `Blue is ${series.subject}; ${series.siblings === 1 ? "the dashed line is its one sibling" : `the band and the dashed line are ${series.siblings} siblings and their median`}. ` : "It has no sibling to compare with. ";
  return (
    <>
      <p class="faint">
        {compared}
        {source}
      </p>
      {marks.length === 0 && <p class="faint">No verdict, event or incident in this time.</p>}
      <details hidden={marks.length === 0}>
        <summary>{marks.length === 1 ? "1 verdict, event or incident" : `${marks.length} verdicts, events and incidents`} in this time</summary>
        <ul class="marks">
          {marks.slice(0, 50).map((mark, at) => (
            <li key={at} class={mark.kind}>
              {day(mark.at)} {timeOfDay(mark.at)} {mark.text}
            </li>
          ))}
        </ul>
      </details>
    </>
  );
}
