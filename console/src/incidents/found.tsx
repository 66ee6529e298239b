/** A finding: path from cause to symptoms, rejected causes, and timeline. */

import type { Account } from "../api";
import { Axis, Chart, type Span } from "../shell/chart";
import { timeOfDay } from "../shell/time";
import { Cost } from "./cost";
import { Lanes } from "./lanes";
import { whole } from "./graph";
import { PathGraph } from "./path_graph";
import { Runbook } from "./runbook";
import { grouped, sentence } from "./timeline";

const MOST_MOMENTS = 200;
const MOST_PATHS = 50;

function Path({ path }: { path: readonly string[] }) {
  return (
    <ol class="paths">
      {path.map((line) => (
        <li key={line}>
          {line.split(" > ").map((subject, at) => (
            <span key={subject} class={`step ${subject.split("/", 1)[0]}`}>
              {at > 0 && <span class="arrow" aria-label="leads to">→</span>}
              {subject}
            </span>
          ))}
        </li>
      ))}
    </ol>
  );
}

function Lines({ name, lines }: { name: string; lines: readonly string[] }) {
  if (lines.length === 0) return null;
  return (
    <section aria-label={name}>
      <h3>{name}</h3>
      <ul class="lines">
        {lines.map((line) => (
          <li key={line}>{sentence(line)}</li>
        ))}
      </ul>
    </section>
  );
}

/** Explanations rejected for the same reason are shown together. */
function rivalsOf(account: Account): string[] {
  const alike = new Map<string, string[]>();
  for (const { cause, kind, why } of account.rivals) {
    const key = `${kind}\n${why}`;
    alike.set(key, [...(alike.get(key) ?? []), cause]);
  }
  return [...alike].map(([key, causes]) => {
    const [kind, why] = key.split("\n");
    return `${kind} on ${causes.toSorted().join(", ")}: ${why}`;
  });
}

function span(account: Account): Span {
  const charts = account.charts;
  const ends = charts.map((one) => one.start + one.step * (one.values.length - 1));
  return { from: Math.min(...charts.map((one) => one.start)), to: Math.max(...ends) };
}

function Charts({ account }: { account: Account }) {
  if (account.charts.length === 0) return null;
  const axis = span(account);
  return (
    <section aria-label="Signals on one axis">
      <h3>All domains on one axis</h3>
      <p class="faint">The dashed line marks the start, {timeOfDay(account.since)}.</p>
      <div class="domains">
        <Lanes account={account} axis={axis} />
        {account.charts.map((one) => (
          <Chart key={`${one.subject} ${one.signal}`} about={one.subject} signal={one.signal} line={one} span={axis} mark={account.since} />
        ))}
        <Axis span={axis} />
      </div>
    </section>
  );
}

function Timeline({ account }: { account: Account }) {
  if (account.timeline.length === 0) return null;
  const lines = grouped(account.timeline);
  return (
    <section aria-label="Timeline of all domains">
      <h3>What happened</h3>
      <div class="scroll" role="region" aria-label="What happened, in order" tabIndex={0}>
        <table>
          <tbody>
            {lines.slice(-MOST_MOMENTS).map((one) => (
              <tr key={`${one.at} ${one.words}`}>
                <td class="number">{timeOfDay(one.at)}</td>
                <td class="faint">{one.domain}</td>
                <td>
                  {one.words}
                  {one.count > 1 && <span class="faint"> and {one.count - 1} similar</span>}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {lines.length < account.timeline.length && (
        <details>
          <summary>All events</summary>
          <ol class="lines">
            {account.timeline.slice(-MOST_MOMENTS).map((moment) => (
              <li key={`${moment.at} ${moment.text}`}>
                {timeOfDay(moment.at)} {sentence(moment.text)}
              </li>
            ))}
          </ol>
        </details>
      )}
    </section>
  );
}

export function Found({ id, account, over }: { id: string; account: Account; over: boolean }) {
  const called = account.owners.map((team) => `${team}: ${account.on_call?.[team] ?? "no one is on call"}`);
  return (
    <>
      <section aria-label="From cause to symptom">
        <h3>From cause to symptom</h3>
        <PathGraph paths={account.path} victims={account.victims} />
        <details open={account.path.length < 4}>
          <summary>As text</summary>
          <Path path={whole(account.path).slice(0, MOST_PATHS)} />
        </details>
      </section>
      <div class="found">
        <div>
          {account.bill && <Cost bill={account.bill} over={over} />}
          <Charts account={account} />
          <Timeline account={account} />
        </div>
        <div>
          <Lines name="Whom to notify" lines={called} />
          <Runbook id={id} />
          <Lines name="Evidence" lines={account.evidence} />
          <Lines name="Rejected causes" lines={rivalsOf(account)} />
          <Lines name="Missing data" lines={account.unknown} />
        </div>
      </div>
    </>
  );
}
