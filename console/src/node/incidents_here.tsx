import { ask, inbox, incidents, lived } from "../live/session";
import { useAnswer } from "../live/use_answer";
import { durationOf } from "../incidents/duration";
import { headline } from "../incidents/headline";
import { timeOfDay } from "../shell/time";
import { open } from "../shell/route";
import { concerns, isRoot } from "./concerns";

/** A node can pass every check and still be the cause of an incident, so incidents come first. */
export function IncidentsHere({ name }: { name: string }) {
  const here = incidents.value.filter((one) => concerns(one, name));
  if (here.length === 0) return null;
  return (
    <section class="incidents-here" aria-label="Open incidents on this node">
      <h3>Open incidents on this node</h3>
      <ul>
        {here.map((one) => (
          <li key={one.id} class={isRoot(one, name) ? "root" : ""}>
            <strong>{isRoot(one, name) ? "This node is the root cause. " : "This node is affected. "}</strong>
            <button type="button" class="link" onClick={() => open("incidents", one.id)}>
              {headline(one, inbox.value)}
            </button>
            <span class="faint">, for {lived(one.account?.since ?? one.opened)}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

const MOST_PAST = 5;

/** Past incidents are not in health or verdicts, but explain the charts and the history. */
export function PastIncidents({ name }: { name: string }) {
  const { value } = useAnswer(() => ask().incidents(), `incidents of ${name}`);
  const past = (value ?? []).filter((one) => one.closed && concerns(one, name)).slice(0, MOST_PAST);
  if (past.length === 0) return null;
  return (
    <section aria-label="Past incidents on this node">
      <h3>Past incidents</h3>
      <ul>
        {past.map((one) => (
          <li key={one.id}>
            {timeOfDay(one.account?.since ?? one.opened)}{" "}
            <button type="button" class="link" onClick={() => open("incidents", one.id)}>
              {headline(one)}
            </button>{" "}
            <span class="faint">
              {isRoot(one, name) ? "root cause" : "affected"}, {durationOf(one)}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
