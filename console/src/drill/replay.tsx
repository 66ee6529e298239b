import { useEffect, useState } from "preact/hooks";
import { Curve } from "../shell/curve";
import { percent, reading } from "../shell/figures";
import { Table } from "../shell/view";
import { minute, type DrillMoment, type DrillOutcome } from "./outcome";

const STEP_MILLISECONDS = 250;
const CHANGED = 0.05;
const MOST_LINES = 5;

function Dashboards({ moment }: { moment: DrillMoment }) {
  const figure = (value: number | null): string => (value === null ? "no data" : reading(value));
  return (
    <Table heads={["Team", "Its dashboard", "Where", "Now", "Usual"]} caption="What each team sees, largest change first; ▲ changed by more than 5 %">
      {moment.dashboards.map((one) => (
        <tr key={`${one.team} ${one.label} ${one.subject}`}>
          <td class="faint">{one.team}</td>
          <th scope="row">{one.label}</th>
          <td>{one.subject}</td>
          <td class="number">
            {one.changed > CHANGED ? "▲ " : ""}
            {figure(one.now)} {one.unit}
          </td>
          <td class="number faint">{figure(one.usual)}</td>
        </tr>
      ))}
    </Table>
  );
}

function Found({ moment }: { moment: DrillMoment }) {
  if (moment.findings.length === 0) return <p class="faint">Holdfast finds nothing at this minute.</p>;
  return (
    <ol class="cards" aria-label="Findings of this minute">
      {moment.findings.map((one) => (
        <li key={`${one.cause} ${one.kind}`}>
          <strong>{one.cause}</strong>: {one.kind}, confidence {percent(one.confidence)}
        </li>
      ))}
    </ol>
  );
}

/** Steps through the minutes of the drill, automatically or by hand. */
export function Replay({ outcome }: { outcome: DrillOutcome }) {
  const last = outcome.moments.length - 1;
  const [at, setAt] = useState(0);
  const [playing, setPlaying] = useState(!matchMedia("(prefers-reduced-motion: reduce)").matches);
  useEffect(() => {
    if (!playing) return;
    const timer = setInterval(() => setAt((before) => Math.min(last, before + 1)), STEP_MILLISECONDS);
    return () => clearInterval(timer);
  }, [playing, last]);
  useEffect(() => {
    if (at === last) setPlaying(false);
  }, [at, last]);
  const moment = outcome.moments[at];
  if (!moment) return null;
  const until = moment.at_seconds / 60;
  const lines = outcome.speeds
    .filter(({ name }) => !name.endsWith("without the fault"))
    .slice(0, MOST_LINES)
    .map(({ name, points }) => ({ name, points: points.filter(([x]) => x <= until) }));
  return (
    <section aria-label="Minute by minute">
      <h3>Minute by minute</h3>
      <div class="replay">
        <button type="button" onClick={() => (at === last ? (setAt(0), setPlaying(true)) : setPlaying(!playing))}>
          {playing ? "Pause" : at === last ? "Replay" : "Play"}
        </button>
        <input type="range" min={0} max={last} value={at} aria-label="Minute of the drill" aria-valuetext={minute(moment.at_seconds)} onInput={(event) => (setPlaying(false), setAt(Number((event.target as HTMLInputElement).value)))} />
        <output>{minute(moment.at_seconds)}</output>
      </div>
      <Found moment={moment} />
      <Curve title="Speed of the jobs and stalls of the pools, as shares" across="minutes" up="share" lines={lines} span={[0, outcome.lasts_seconds / 60]} />
      <Dashboards moment={moment} />
    </section>
  );
}
