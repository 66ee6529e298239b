import { incidents } from "../live/session";
import { withFigures } from "../shell/figures";
import { open } from "../shell/route";
import { concerns, isRoot } from "./concerns";

/** A node can pass every check and still be the cause of an incident; then this comes first. */
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
              {one.subject}
            </button>{" "}
            {withFigures(one.reason.replace(`${one.subject}: `, ""))}
          </li>
        ))}
      </ul>
    </section>
  );
}
