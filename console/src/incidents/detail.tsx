import type { Incident } from "../api";
import { ask, incidents, now, roster } from "../live/session";
import { useAnswer } from "../live/use_answer";
import { told } from "../shell/figures";
import { HOME, go } from "../shell/route";
import { age, timeOfDay } from "../shell/time";
import { View } from "../shell/view";
import { Found } from "./found";

const LOOK_EVERY_SECONDS = 3;
const MOST_NODES = 64;

/** The nodes behind its subject, as the fleet view finds them; by their names where they do not say that they are. */
function behind({ subject, evidence }: Incident): { group?: string; find?: string; node?: string } {
  const [kind = "", name = ""] = subject.split("/", 2);
  if (kind === "node") return { node: name };
  if (kind === "pool") return { find: `pool:${name}` };
  const placed = [...roster.nodes.values()].some((node) => node.place[kind] === name);
  return placed || evidence.length === 0 ? { group: kind, find: `${kind}:${name}` } : { find: `name:${evidence.join(",")}` };
}

function Nodes({ incident }: { incident: Incident }) {
  const more = incident.evidence.length - MOST_NODES;
  return (
    <section aria-label="Nodes">
      <h3>{incident.account ? `Left in service: they ${incident.state === "closed" ? "were" : "are"} its victims` : "Nodes"}</h3>
      <p class="row">
        <button type="button" onClick={() => go({ ...HOME, ...behind(incident) })}>
          Show {incident.subject} in the fleet
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

/** One without an account was told by the nodes' own verdicts: what that means, and what it does not know. */
function Unpriced({ incident }: { incident: Incident }) {
  return (
    <p class="faint lead">
      {incident.evidence.length > 1
        ? "Its nodes failed together, so they are held back as one incident and none is quarantined for it. "
        : ""}
      No seam found a cause beyond it, so there is no path and no price.
    </p>
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
            <strong>{told(incident.account?.sentence || incident.reason)}</strong>
          </p>
          <p class="faint">
            {incident.state}, opened {timeOfDay(incident.opened)}, {age(incident.opened, incident.closed ?? now())}
            {incident.closed ? " until it was closed" : " ago"}
          </p>
          {incident.account ? <Found id={incident.id} account={incident.account} over={incident.state === "closed"} /> : <Unpriced incident={incident} />}
          <Nodes incident={incident} />
        </>
      )}
    </View>
  );
}
