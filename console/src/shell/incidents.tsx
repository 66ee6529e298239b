import { incidents } from "../live/session";
import { withFigures } from "./figures";
import { open } from "./route";
import { timeOfDay } from "./time";

const MOST_SHOWN = 3;

/** Open incidents: a cause that many nodes share is shown once. */
export function Incidents() {
  const opened = incidents.value;
  if (opened.length === 0) return null;
  const more = opened.length - MOST_SHOWN;
  return (
    <section class="incidents" aria-label="Open incidents" aria-live="polite" aria-relevant="additions">
      <ul>
        {opened.slice(0, MOST_SHOWN).map((incident) => (
          <li key={incident.id}>
            <span class="mark" aria-hidden="true">
              ▲
            </span>
            <strong>{incident.subject}</strong>
            <span class="reason">{withFigures(incident.reason.replace(`${incident.subject}: `, ""))}</span>
            <time>since {timeOfDay(incident.opened)}</time>
            <button type="button" onClick={() => open("incidents", incident.id)}>
              Show
            </button>
          </li>
        ))}
        {more > 0 && (
          <li>
            <button type="button" class="link" onClick={() => open("incidents")}>
              and {more} more {more === 1 ? "incident" : "incidents"}
            </button>
          </li>
        )}
      </ul>
    </section>
  );
}
