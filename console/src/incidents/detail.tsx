import type { Account, Incident } from "../api";
import { ask, incidents, now } from "../live/session";
import { useAnswer } from "../live/use_answer";
import { Chart, type Span } from "../shell/chart";
import { HOME, go } from "../shell/route";
import { age, timeOfDay } from "../shell/time";
import { View } from "../shell/view";
import { Cost } from "./cost";
import { Lanes } from "./lanes";
import { PathGraph } from "./path_graph";

const LOOK_EVERY_SECONDS = 5;
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
          <li key={line}>{line}</li>
        ))}
      </ul>
    </section>
  );
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
      <h3>
        Signals, {timeOfDay(axis.from)} to {timeOfDay(axis.to)}; the line marks where it began
      </h3>
      <Lanes account={account} axis={axis} />
      {account.charts.map((one) => (
        <Chart key={`${one.subject} ${one.signal}`} title={`${one.subject} ${one.signal}`} line={one} span={axis} mark={account.since} />
      ))}
    </section>
  );
}

function Timeline({ account }: { account: Account }) {
  if (account.timeline.length === 0) return null;
  return (
    <section aria-label="Timeline of all domains">
      <h3>What happened</h3>
      <table>
        <tbody>
          {account.timeline.slice(-MOST_MOMENTS).map((moment) => (
            <tr key={`${moment.at} ${moment.text}`}>
              <td class="number">{timeOfDay(moment.at)}</td>
              <td class="faint">{moment.domain}</td>
              <td>{moment.text}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Found({ account }: { account: Account }) {
  const rivals = account.rivals.map((one) => `${one.cause} (${one.kind}): ${one.why}`);
  return (
    <>
      <p class="lead">
        Since {timeOfDay(account.since)}, for {age(0, account.lasted_seconds)}; confidence {account.confidence.toFixed(2)}
      </p>
      <section aria-label="From cause to symptom">
        <h3>From cause to symptom</h3>
        <PathGraph paths={account.path} />
        <details open={account.path.length < 4}>
          <summary>In words</summary>
          <Path path={account.path.slice(0, MOST_PATHS)} />
        </details>
      </section>
      <Lines name="Evidence" lines={account.evidence} />
      <Lines name="Other explanations, and why they lost" lines={rivals} />
      <Lines name="What could not be seen" lines={account.unknown} />
      {account.bill && <Cost bill={account.bill} />}
      <Charts account={account} />
      <Timeline account={account} />
      <Lines name="Who must know" lines={account.owners.map((team) => `${team}: ${account.on_call?.[team] ?? "nobody is named on call"}`)} />
      {account.runbook && (
        <p>
          Runbook: <code>runbooks/{account.runbook}.md</code>, with the queries filled in by{" "}
          <code>holdfast incident show</code>
        </p>
      )}
    </>
  );
}

/** The nodes behind its subject, as the fleet view finds them. */
function behind(subject: string): { group?: string; find?: string; node?: string } {
  const [kind = "", name = ""] = subject.split("/", 2);
  if (kind === "node") return { node: name };
  return kind === "pool" ? { find: `pool:${name}` } : { group: kind, find: `${kind}:${name}` };
}

function Nodes({ incident }: { incident: Incident }) {
  return (
    <section aria-label="Nodes">
      <h3>{incident.account ? "Left in service: they are its victims" : "Nodes"}</h3>
      <p class="row">
        <button type="button" onClick={() => go({ ...HOME, ...behind(incident.subject) })}>
          Show {incident.subject} in the fleet
        </button>
        {incident.evidence.map((name) => (
          <button key={name} type="button" class="link" onClick={() => go({ ...HOME, node: name })}>
            {name}
          </button>
        ))}
      </p>
    </section>
  );
}

export function IncidentDetail({ id }: { id: string }) {
  const { value, trouble } = useAnswer(() => ask().incident(id), id, LOOK_EVERY_SECONDS);
  const incident = value ?? incidents.value.find((one) => one.id === id) ?? null;
  return (
    <View
      title={incident ? `${incident.subject}: ${incident.cause}` : id}
      what="The incident"
      trouble={trouble}
      back={{ view: "incidents", words: "All incidents" }}
    >
      {incident && (
        <>
          <p class="lead">
            <strong>{incident.account?.sentence || incident.reason}</strong>
          </p>
          <p class="faint">
            {incident.state}, opened {timeOfDay(incident.opened)}, {age(incident.opened, incident.closed ?? now())}
            {incident.closed ? " until it was closed" : " ago"}
          </p>
          {incident.account && <Found account={incident.account} />}
          <Nodes incident={incident} />
        </>
      )}
    </View>
  );
}
