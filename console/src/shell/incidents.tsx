import type { Incident } from "../api";
import { incidents } from "../live/session";
import { go } from "./route";
import { timeOfDay } from "./time";

const MOST_SHOWN = 3;

/** Where an incident can be looked at: its node, or the nodes that share its parent. */
function show({ subject }: Incident): void {
  const [kind = "", name = ""] = subject.split("/", 2);
  if (kind === "node") go({ node: name });
  else if (kind === "pool") go({ find: `pool:${name}` });
  else go({ group: kind, find: `${kind}:${name}` });
}

/** What many nodes share is said once, above them all. */
export function Incidents() {
  const open = incidents.value;
  if (open.length === 0) return null;
  return (
    <section class="incidents" aria-label="Open incidents" aria-live="polite">
      <ul>
        {open.slice(0, MOST_SHOWN).map((incident) => (
          <li key={incident.id}>
            <span class="mark" aria-hidden="true">
              ▲
            </span>
            <strong>{incident.subject}</strong>
            <span class="reason">{incident.reason}</span>
            <time>since {timeOfDay(incident.opened)}</time>
            <button type="button" onClick={() => show(incident)}>
              Show
            </button>
          </li>
        ))}
        {open.length > MOST_SHOWN && <li>and {open.length - MOST_SHOWN} more incidents</li>}
      </ul>
    </section>
  );
}
