import { useEffect, useState } from "preact/hooks";
import { connection, fleet, roster } from "../live/session";
import { NodePanel } from "../node/panel";
import { Strip } from "../home/strip";
import { go, route } from "../shell/route";
import { Grid } from "./grid";
import { Latest } from "./latest";
import { Legend } from "./legend";
import { Pools } from "./pools";
import { Toolbar } from "./toolbar";

function editing(target: EventTarget | null): boolean {
  return target instanceof HTMLInputElement || target instanceof HTMLSelectElement;
}

function useShortcuts(): void {
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if (event.key === "/" && !editing(event.target)) {
        event.preventDefault();
        document.getElementById("find")?.focus();
      } else if (event.key === "Escape" && !editing(event.target) && route.value.node) {
        go({ node: "" });
        document.getElementById("grid")?.focus();
      }
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
}

function Emptiness() {
  if (connection.value.kind === "connecting") return <p class="empty">Loading nodes …</p>;
  if (connection.value.kind === "lost") return <p class="empty">The controller has not answered yet.</p>;
  return (
    <p class="empty">
      No node has enrolled yet. Start <code>holdfast agent</code> on a node with a join token, or start a simulated
      fleet with <code>holdfast up --demo</code>.
    </p>
  );
}

/** Over the grid, not inside it: a list of nodes has no buttons. */
function NoneFits() {
  return (
    <p class="empty none-fits">
      None of {roster.nodes.size.toLocaleString("en")} nodes matches {route.value.find ? <code>{route.value.find}</code> : "the filter"}.{" "}
      <button type="button" onClick={() => go({ find: "" })}>
        Show all
      </button>
    </p>
  );
}

export function FleetPage() {
  useShortcuts();
  const [pitch, setPitch] = useState(0);
  const [shown, setShown] = useState(0);
  const [zoom, setZoom] = useState(0);
  const [empty, setEmpty] = useState(roster.nodes.size === 0);
  useEffect(() => roster.observe(() => setEmpty(roster.nodes.size === 0)), []);
  const { node } = route.value;
  return (
    <div class={node ? "page with-panel" : "page"}>
      <main>
        <Strip />
        <Pools pools={fleet.value?.pools ?? []} />
        <Legend pitch={pitch} />
        <Toolbar shown={shown} pitch={pitch} zoom={zoom} onZoom={setZoom} />
        {empty ? (
          <Emptiness />
        ) : (
          <div class="grid-room">
            <Grid
              zoom={zoom}
              onArranged={(arrangement) => {
                setPitch(arrangement.pitch);
                setShown(arrangement.names.length);
              }}
            />
            {pitch > 0 && shown === 0 && <NoneFits />}
          </div>
        )}
        <Latest />
      </main>
      {node && <NodePanel key={node} name={node} />}
    </div>
  );
}
