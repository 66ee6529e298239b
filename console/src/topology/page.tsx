/** Map of cooling loops, racks and feeds, leaves and spines, on which an incident can be highlighted. */

import "./topology.css";
import { HEALTHS, type Health, type Incident } from "../api";
import { headline } from "../incidents/headline";
import { ask, connection, fleet, inbox, incidents, roots } from "../live/session";
import { useAnswer } from "../live/use_answer";
import { useNodes } from "../live/use_nodes";
import { go, HOME, open, route } from "../shell/route";
import { View } from "../shell/view";
import { Fabric } from "./fabric";
import { litBy, mapOf, worstOf, type LoopBox, type RackBox } from "./map";

const MOST_CELLS = 1_500;
const REFRESH_SECONDS = 15;

interface Lit {
  lit: ReadonlySet<string> | null;
}

function tone(subject: string, lit: ReadonlySet<string> | null): string {
  const root = roots.value.has(subject) ? "root" : "";
  return lit ? `${lit.has(subject) ? "lit" : "dim"} ${root}` : root;
}

/** A rack is dimmed like its nodes. */
function rackTone(rack: RackBox, lit: ReadonlySet<string> | null): string {
  if (!lit) return tone(`rack/${rack.name}`, null);
  return lit.has(`rack/${rack.name}`) || rack.nodes.some((node) => lit.has(`node/${node.name}`)) ? "lit" : "dim";
}

function counts(rack: RackBox): string {
  const of = (health: Health): number => rack.nodes.filter((node) => node.health === health).length;
  return HEALTHS.filter((health) => of(health) > 0)
    .map((health) => `${of(health)} ${health}`)
    .join(", ");
}

function Rack({ rack, cells, lit }: Lit & { rack: RackBox; cells: boolean }) {
  return (
    <li class={`rack ${cells ? "" : worstOf(rack.nodes)} ${rackTone(rack, lit)}`} title={`${rack.name || "no rack"}: ${counts(rack)}`}>
      <button type="button" class="link name" onClick={() => go({ ...HOME, find: rack.name ? `rack:${rack.name}` : "" })}>
        {rack.name || "no rack"}
      </button>
      <span class="feed">{rack.feeds.join(", ")}</span>
      {cells ? (
        <div class="cells">
          {rack.nodes.map((node) => (
            <button
              key={node.name}
              type="button"
              class={`cell ${node.health} ${roots.value.has(node.name) ? "root" : ""} ${lit ? (lit.has(`node/${node.name}`) ? "lit" : "dim") : ""}`}
              title={`${node.name}: ${node.health}, ${node.stage}`}
              aria-label={`${node.name}: ${node.health}, ${node.stage}`}
              onClick={() => go({ ...HOME, node: node.name })}
            />
          ))}
        </div>
      ) : (
        <span class="few">{counts(rack)}</span>
      )}
    </li>
  );
}

function Loop({ loop, cells, lit }: Lit & { loop: LoopBox; cells: boolean }) {
  const nodes = loop.racks.reduce((sum, rack) => sum + rack.nodes.length, 0);
  return (
    <section class="loop" aria-label={loop.name ? `Cooling loop ${loop.name}` : "Without a known cooling loop"}>
      <h4>
        {loop.coolers.map((cooler) => (
          <span key={cooler} class={`part ${tone(cooler, lit)}`}>
            {cooler}
          </span>
        ))}
        <span class={`part ${loop.name ? tone(`loop/${loop.name}`, lit) : ""}`}>{loop.name ? `loop/${loop.name}` : "no cooling loop known"}</span>
        <span class="faint">
          {loop.racks.length} racks, {nodes} nodes
        </span>
      </h4>
      <ul class="racks">
        {loop.racks.map((rack) => (
          <Rack key={rack.name} rack={rack} cells={cells} lit={lit} />
        ))}
      </ul>
    </section>
  );
}

function Chooser({ chosen, all }: { chosen: Incident | undefined; all: readonly Incident[] }) {
  return (
    <div class="toolbar">
      <label>
        Show an incident{" "}
        <select value={chosen?.id ?? ""} onChange={(event) => open("topology", event.currentTarget.value)}>
          <option value="">none</option>
          {all.map((one) => (
            <option key={one.id} value={one.id}>
              {headline(one, inbox.value)}
            </option>
          ))}
        </select>
      </label>
      {chosen && (
        <button type="button" class="link" onClick={() => open("incidents", chosen.id)}>
          Open it
        </button>
      )}
      <output>{!fleet.value ? "" : `${all.length === 0 ? "No incident is open." : `${all.length} open; ▲ or a thick frame is a root.`} A leaf has the colour of its worst node.`}</output>
    </div>
  );
}

export function TopologyPage() {
  const nodes = useNodes();
  const { value: topology, trouble } = useAnswer(() => ask().topology(), "topology", REFRESH_SECONDS);
  const { value: probes } = useAnswer(() => ask().probes(), "probes", REFRESH_SECONDS);
  const { item } = route.value;
  const { value: past } = useAnswer(async () => (item ? await ask().incident(item) : null), item);
  const chosen = incidents.value.find((one) => one.id === item) ?? past ?? undefined;
  const all = chosen && !incidents.value.includes(chosen) ? [...incidents.value, chosen] : incidents.value;
  const site = mapOf(nodes, topology?.edges ?? []);
  const lit = chosen ? litBy(chosen, nodes) : null;
  return (
    <View title="Topology" what="The topology" trouble={trouble}>
      <Chooser chosen={chosen} all={all} />
      {nodes.length === 0 ? (
        <p class="empty">{connection.value.kind === "live" ? "No node has enrolled yet." : "Loading …"}</p>
      ) : (
        <>
          <h3>Network</h3>
          <Fabric leaves={site.leaves} probes={probes} lit={lit} />
          <h3>Cooling and power</h3>
          {site.loops.map((loop) => (
            <Loop key={loop.name} loop={loop} cells={nodes.length <= MOST_CELLS} lit={lit} />
          ))}
        </>
      )}
    </View>
  );
}
