import type { ProbesView } from "../api";
import { ask, incidents } from "../live/session";
import { useAnswer } from "../live/use_answer";
import { amount, percent } from "../shell/figures";
import { View } from "../shell/view";
import { History, Sweeps } from "./history";
import { Matrix } from "./matrix";
import { livedBetween } from "../shell/time";

const REFRESH_SECONDS = 5;

function Coverage({ probes }: { probes: ProbesView }) {
  const hours = probes.period_seconds / 3600;
  const usual = probes.usual_bytes_per_second;
  return (
    <p class="lead">
      <strong>
        {amount(probes.proven)} of {amount(probes.pairs)}
      </strong>{" "}
      pairs of leaves were proven within {hours >= 1 ? `${hours.toFixed(0)} h` : `${(hours * 60).toFixed(0)} min`}, in{" "}
      {probes.sessions.toLocaleString("en")} sessions
      {usual !== null && `; the usual bandwidth is ${(usual / 1e9).toFixed(1)} GB/s`}.
      {!probes.enabled && " Probing between jobs is off. To enable it, set [probes] enabled = true in the policy."}
    </p>
  );
}

/** A path has no partner to confirm it with: enough slow sessions open its incident. */
function confirmation(subject: string, confirmed: boolean): string {
  if (incidents.value.some((one) => one.subject === subject || one.subject === `fabric/${subject}`)) return "an incident is open";
  return confirmed ? "confirmed with a good partner" : "not confirmed yet";
}

function Suspects({ probes }: { probes: ProbesView }) {
  if (probes.suspects.length === 0) return <p class="faint">No suspects: no part was slow in enough of its sessions.</p>;
  return (
    <ul class="cards">
      {probes.suspects.map((suspect) => (
        <li key={suspect.subject}>
          <strong>{suspect.subject}</strong> loses {percent(suspect.loss)}, {suspect.slow} of{" "}
          {suspect.measured} sessions slow, {confirmation(suspect.subject, suspect.confirmed)}
          <p class="faint">{suspect.evidence.map(([what, text]) => `${what} ${text}`).join("; ")}</p>
        </li>
      ))}
    </ul>
  );
}

export function ProbesPage() {
  const { value: probes, trouble } = useAnswer(() => ask().probes(), "probes", REFRESH_SECONDS);
  return (
    <View title="Probes" what="The probes" trouble={trouble}>
      {!probes && !trouble && <p class="empty">Loading …</p>}
      {probes && (
        <>
          <Coverage probes={probes} />
          <Matrix probes={probes} />
          <h3>Suspects</h3>
          <Suspects probes={probes} />
          <h3>History</h3>
          <History probes={probes} />
          <Sweeps />
          <h3>Running and next</h3>
          <ul class="cards">
            {[...probes.running, ...probes.next].slice(0, 20).map((session) => (
              <li key={`${session.one} ${session.other}`}>
                <strong>
                  {session.one} with {session.other}
                </strong>{" "}
                {session.since == null ? "next" : `for ${livedBetween(session.since, probes.at)}`}: {session.why}
              </li>
            ))}
          </ul>
          {probes.troubles.length > 0 && <h3>Could not take part (unknown, not slow)</h3>}
          <ul class="cards">
            {probes.troubles.slice(0, 20).map((one) => (
              <li key={one.node}>
                <strong>{one.node}</strong> {livedBetween(one.at, probes.at)} ago: {one.reason}
              </li>
            ))}
          </ul>
        </>
      )}
    </View>
  );
}
