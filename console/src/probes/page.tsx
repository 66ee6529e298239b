import type { ProbesView } from "../api";
import { ask, fleet, incidents } from "../live/session";
import { useAnswer } from "../live/use_answer";
import { amount, percent } from "../shell/figures";
import { View } from "../shell/view";
import { History, Sweeps } from "./history";
import { Matrix } from "./matrix";
import { suspectsOf, suspicion, type SlowPart } from "./slow_parts";
import { lasting, livedBetween } from "../shell/time";

const REFRESH_SECONDS = 5;

function Coverage({ probes }: { probes: ProbesView }) {
  const period = lasting(probes.period_seconds * (fleet.value?.time_factor ?? 1));
  const usual = probes.usual_bytes_per_second;
  return (
    <p class="lead">
      <strong>
        {amount(probes.proven)} of {amount(probes.pairs)}
      </strong>{" "}
      pairs of leaves were proven within {period}, in{" "}
      {probes.sessions.toLocaleString("en")} sessions
      {usual !== null && `; the usual bandwidth is ${(usual / 1e9).toFixed(1)} GB/s`}.
      {!probes.enabled && " Probing between jobs is off. To enable it, set [probes] enabled = true in the policy."}
    </p>
  );
}

function Parts({ parts }: { parts: readonly SlowPart[] }) {
  return (
    <ul class="cards">
      {parts.map((one) => (
        <li key={one.subject}>
          <strong>{one.subject}</strong> loses {percent(one.loss)}, {one.slow} of {one.measured} sessions slow
          {suspicion(one, incidents.value) && `, ${suspicion(one, incidents.value)}`}
          <p class="faint">{one.evidence.map(([what, text]) => `${what} ${text}`).join("; ")}</p>
        </li>
      ))}
    </ul>
  );
}

/** As on the other views, a part that was slow once is not a suspect: it is measured again when its nodes are idle. */
function Suspects({ probes }: { probes: ProbesView }) {
  const suspects = suspectsOf(probes, incidents.value);
  const again = probes.suspects.filter((one) => !suspects.includes(one));
  return (
    <>
      <h3>Suspects</h3>
      {suspects.length === 0 && <p class="faint">None: no part was slow in enough of its sessions.</p>}
      <Parts parts={suspects} />
      {again.length > 0 && <h3>Slow, and not measured again yet</h3>}
      {again.length > 0 && <p class="faint">No verdict yet: a pair is probed again when both of its nodes are idle.</p>}
      <Parts parts={again} />
    </>
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
