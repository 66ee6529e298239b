import type { Incident } from "../api";
import { ask, inbox, incidents, roster, when } from "../live/session";
import { useAnswer } from "../live/use_answer";
import { CopyCommand } from "../shell/commands";
import { amount, money, percent, withFigures } from "../shell/figures";
import { HOME, go, open } from "../shell/route";
import { View } from "../shell/view";
import { durationOf } from "./duration";
import { Found } from "./found";
import { headline, summary } from "./headline";
import { PostMortem } from "./post_mortem";
import { Runbook } from "./runbook";

const REFRESH_SECONDS = 3;
const MOST_NODES = 64;

/** Filter for the nodes behind the incident's subject; by node name if their places do not contain the subject. */
function behind({ subject, evidence }: Incident): { group?: string; find?: string; node?: string } {
  const [kind = "", name = ""] = subject.split("/", 2);
  if (kind === "node") return { node: name };
  if (kind === "pool") return { find: `pool:${name}` };
  const placed = [...roster.nodes.values()].some((node) => node.place[kind] === name);
  return placed || evidence.length === 0 ? { group: kind, find: `${kind}:${name}` } : { find: `name:${evidence.join(",")}` };
}

function heading({ account, state, evidence }: Incident): string {
  if (evidence.length === 0) return "Where";
  if (!account) return "Nodes";
  return `Victims: ${evidence.length} ${evidence.length === 1 ? "node" : "nodes"}; they ${state === "closed" ? "stayed" : "stay"} in service`;
}

function Nodes({ incident }: { incident: Incident }) {
  const more = incident.evidence.length - MOST_NODES;
  return (
    <section aria-label="Nodes">
      <h3>{heading(incident)}</h3>
      <p class="row">
        <button type="button" onClick={() => go({ ...HOME, ...behind(incident) })}>
          Show {incident.subject} in the fleet
        </button>
        <button type="button" onClick={() => open("topology", incident.id)}>
          Show it on the topology
        </button>
        {incident.evidence.slice(0, MOST_NODES).map((name) => (
          <button key={name} type="button" class="link" onClick={() => go({ ...HOME, node: name })}>
            {name}
          </button>
        ))}
        {more > 0 && <span class="faint">and {more} more</span>}
      </p>
    </section>
  );
}

/** An incident without an account comes from the nodes' own verdicts: it has no path and no layers of cost. */
function WithoutAccount({ incident }: { incident: Incident }) {
  const { gpu_hours: hours, cost, currency = "USD", owner } = incident.figures ?? {};
  return (
    <>
      <p>
        {cost == null ? (
          "Its cost is not known."
        ) : (
          <>
            <strong class="figure">{money(cost, currency)}</strong> {incident.closed ? "of compute" : "of compute so far"}:{" "}
            {hours == null ? "" : `${amount(hours)} GPU-hours of its nodes.`}
          </>
        )}
        {owner && ` Owner: ${owner}.`}
      </p>
      <p class="faint lead">
        No cause in another domain was found.
      </p>
    </>
  );
}

export function IncidentDetail({ id }: { id: string }) {
  const { value, trouble, missing } = useAnswer(() => ask().incident(id), id, REFRESH_SECONDS);
  const incident = value ?? incidents.value.find((one) => one.id === id) ?? null;
  return (
    <View
      title={incident ? headline(incident, inbox.value) : id}
      what="The incident"
      trouble={trouble}
      missing={missing && !incident}
      back={{ view: "incidents", label: "All incidents" }}
    >
      {incident && (
        <>
          <p class="lead">
            <strong>{withFigures(summary(incident.account?.sentence || incident.reason, headline(incident, inbox.value)))}</strong>
          </p>
          <p class="faint">
            {incident.state === "closed" ? "Closed" : "Open"}: it began at {when(incident.account?.since ?? incident.opened)} and{" "}
            {incident.closed ? `lasted ${durationOf(incident)}` : `has lasted ${durationOf(incident)}`}
            {incident.account && `; confidence ${percent(incident.account.confidence)}`}.{" "}
            <CopyCommand text={`holdfast incident show ${incident.state === "closed" ? incident.id : incident.subject}`} />{" "}
            <PostMortem id={incident.id} />
          </p>
          {incident.account ? <Found id={incident.id} account={incident.account} over={incident.state === "closed"} /> : <WithoutAccount incident={incident} />}
          {!incident.account && <Runbook id={incident.id} />}
          <Nodes incident={incident} />
        </>
      )}
    </View>
  );
}
