import type { Health, VerdictView } from "../api";
import { lived } from "../live/session";
import { open } from "../shell/route";

const WORST_FIRST = ["fail", "unknown", "degraded", "pass", "not_applicable"];
const MOST_SHOWN = 200;

function Row({ verdict }: { verdict: VerdictView }) {
  return (
    <li>
      <span class={`health ${verdict.health}`}>{verdict.health.replace("_", " ")}</span>
      <div>
        <strong>{verdict.check}</strong> <span class="faint">for {lived(verdict.since)}</span>
        {verdict.reason && <p>{verdict.reason}</p>}
        {verdict.remedy && (
          <p class="remedy">
            <strong>Do:</strong> {verdict.remedy} <span class="faint">({verdict.owner})</span>{" "}
            {verdict.runbook && (
              <button type="button" class="link" onClick={() => open("runbook", verdict.runbook ?? "")}>
                Runbook
              </button>
            )}
          </p>
        )}
        {verdict.evidence.length > 0 && <p class="evidence">{verdict.evidence.join("; ")}</p>}
      </div>
    </li>
  );
}

/** Problems are shown; checks that pass are counted and collapsed. */
interface Props {
  verdicts: readonly VerdictView[];
  leftOut?: number;
  health: Health;
}

export function Verdicts({ verdicts, leftOut = 0, health }: Props) {
  const sorted = verdicts.toSorted((one, other) => WORST_FIRST.indexOf(one.health) - WORST_FIRST.indexOf(other.health));
  const wrong = sorted.filter((verdict) => verdict.health !== "pass" && verdict.health !== "not_applicable");
  const fine = sorted.slice(wrong.length);
  const left = Math.max(0, wrong.length - MOST_SHOWN) + leftOut;
  return (
    <section class="verdicts" aria-label="Verdicts">
      <h3>Verdicts</h3>
      <ul>
        {wrong.slice(0, MOST_SHOWN).map((verdict) => (
          <Row key={verdict.check} verdict={verdict} />
        ))}
      </ul>
      {left > 0 && <p class="faint">and {left.toLocaleString("en")} more that are not shown; they are less severe</p>}
      {wrong.length === 0 && fine.length === 0 && <p class="faint">{health === "pass" ? "Every check of this node passes." : "No check has reported yet."}</p>}
      {fine.length > 0 && (
        <details>
          <summary>{fine.length === 1 ? "1 check passes or does" : `${fine.length} checks pass or do`} not apply</summary>
          <ul>
            {fine.slice(0, MOST_SHOWN).map((verdict) => (
              <Row key={verdict.check} verdict={verdict} />
            ))}
          </ul>
        </details>
      )}
    </section>
  );
}
