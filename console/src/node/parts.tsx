import type { PartsView } from "../api";
import { ask, lived } from "../live/session";
import { useAnswer } from "../live/use_answer";
import { pieces } from "../shell/chart";
import { open } from "../shell/route";
import { day, livedBetween, timeOfDay } from "../shell/time";

const REFRESH_SECONDS = 15;
const SHOWN: [signal: string, name: string, show: (value: number) => string][] = [
  ["gpu_temperature_celsius", "Core", (value) => `${value.toFixed(0)} °C`],
  ["gpu_memory_temperature_celsius", "Memory", (value) => `${value.toFixed(0)} °C`],
  ["gpu_power_watts", "Power", (value) => `${value.toFixed(0)} W`],
  ["gpu_clock_sm_hertz", "Clock", (value) => `${(value / 1e9).toFixed(2)} GHz`],
  ["gpu_utilization_ratio", "Utilization", (value) => `${(value * 100).toFixed(0)} %`],
];

function Spark({ values, name }: { values: readonly (number | null)[]; name: string }) {
  const line = { start: 0, step: 1, values };
  return (
    <svg class="spark" viewBox="0 0 600 54" preserveAspectRatio="none" role="img" aria-label={name}>
      {pieces(line, { from: 0, to: Math.max(1, values.length - 1) }).map((points) => (
        <polyline key={points} points={points} />
      ))}
    </svg>
  );
}

function Gpus({ node, parts }: { node: string; parts: PartsView }) {
  const signals = SHOWN.filter(([signal]) => parts.gpus.some((gpu) => gpu.signals[signal]));
  const first = parts.times[0];
  if (parts.gpus.length === 0) {
    return <p class="faint">No GPU data yet: agents report once a minute, and in a large fleet the controller stores it only after the first view.</p>;
  }
  return (
    <table class="gpus">
      <caption>{first === undefined ? "" : `The last ${lived(first)}`}</caption>
      <thead>
        <tr>
          <th scope="col">GPU</th>
          {signals.map(([signal, name]) => (
            <th key={signal} scope="col">
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {parts.gpus.map((gpu) => (
          <tr key={gpu.gpu}>
            <th scope="row">
              <button type="button" class="link" aria-label={`History of GPU ${gpu.gpu}`} onClick={() => open("history", "", { subject: `node/${node}/gpu/${gpu.gpu}`, signal: "gpu_temperature_celsius" })}>
                {gpu.gpu}
              </button>
            </th>
            {signals.map(([signal, name, show]) => {
              const values = gpu.signals[signal] ?? [];
              const last = values.findLast((value) => value !== null);
              return (
                <td key={signal}>
                  {last == null ? "no data" : show(last)}
                  <Spark values={values} name={`${name} of GPU ${gpu.gpu} over time`} />
                </td>
              );
            })}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** "nic mlx5_0/1", the name that checks use. */
function portName(subject: string): string {
  const [, , kind, ...port] = subject.split("/");
  return `${kind} ${port.join("/")}`;
}

function Outages({ parts }: { parts: PartsView }) {
  if (parts.outages.length === 0) return <p class="faint">No port outage exceeded its limit{parts.note && `, ${parts.note}`}.</p>;
  return (
    <ul class="outages">
      {parts.outages.map((one) => (
        <li key={`${one.port} ${one.began}`}>
          <strong>{portName(one.port)}</strong>{" "}
          <span class={`health ${one.worst}`}>{one.worst}</span> {day(one.began)} {timeOfDay(one.began)},{" "}
          {one.ended === null ? `for ${lived(one.began)} so far` : `for ${livedBetween(one.began, one.ended)}`}
          <p>{one.reason}</p>
        </li>
      ))}
    </ul>
  );
}

export function Parts({ name }: { name: string }) {
  const { value: parts, trouble } = useAnswer(() => ask().parts(name), name, REFRESH_SECONDS);
  return (
    <>
      {trouble && (
        <p class="trouble" role="alert">
          GPUs, ports and tests could not be read: {trouble}
        </p>
      )}
      {!parts && !trouble && <p class="empty parts-room">Loading …</p>}
      {parts && (
        <>
          <section aria-label="GPUs">
            <h3>GPUs</h3>
            <Gpus node={name} parts={parts} />
          </section>
          <section aria-label="Port outages">
            <h3>Port outages</h3>
            <Outages parts={parts} />
          </section>
          <section aria-label="Past tests">
            <h3>Past tests</h3>
            {parts.tests.length === 0 && <p class="faint">It has not been tested yet.</p>}
            <ul class="outages">
              {parts.tests.slice(0, 10).map((one) => (
                <li key={one.at}>
                  {day(one.at)} {timeOfDay(one.at)}: <strong>{one.result || one.state}</strong>
                  {one.cause && <span class="faint"> after {one.cause}</span>}
                </li>
              ))}
            </ul>
          </section>
        </>
      )}
    </>
  );
}
