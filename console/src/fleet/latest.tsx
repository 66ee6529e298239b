import { fleet, latest, lived, now, RECENT_SECONDS } from "../live/session";
import { go } from "../shell/route";
import { timeOfDay } from "../shell/time";

const LINES = 5;

/** A fleet that is some minutes old has no data of the last ten hours. */
function demoBegan(): number {
  return fleet.value?.demo ? fleet.value.clock_began : 0;
}

/** The latest transitions, so that a change in the grid is explained at once. */
export function Latest() {
  const lines = latest.value.slice(0, LINES);
  return (
    <section class="latest" aria-label="Latest changes">
      {lines.length === 0 && <p>No node left service or returned in the last {lived(Math.max(now() - RECENT_SECONDS, demoBegan()))}.</p>}
      <ol>
        {lines.map((line) => (
          <li key={`${line.node} ${line.at} ${line.after}`}>
            <time>{timeOfDay(line.at)}</time>
            <button type="button" class="link" onClick={() => go({ node: line.node })}>
              {line.node}
            </button>
            <span>
              {line.before} → <strong>{line.after}</strong>
            </span>
            <span class="reason">{line.reason}</span>
          </li>
        ))}
      </ol>
    </section>
  );
}
