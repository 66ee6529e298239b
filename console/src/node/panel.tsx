import { useEffect, useState } from "preact/hooks";
import type { NodeDetail, NodeView, Stage } from "../api";
import { lived, roster } from "../live/session";
import { go } from "../shell/route";
import { Actions } from "./actions";
import { IncidentsHere, PastIncidents } from "./incidents_here";
import { NextStepOf } from "./next_step";
import { Parts } from "./parts";
import { History } from "./history";
import { useNode } from "./use_node";
import { Verdicts } from "./verdicts";

function ago(at: number | null): string {
  return at === null ? "never" : `${lived(at)} ago`;
}

const IN_SERVICE: ReadonlySet<Stage> = new Set(["ready", "spare", "allocated", "cleaning"]);

/** "rack1" instead of "rack rack1". */
function placed(kind: string, name: string): string {
  return name.startsWith(kind) ? name : `${kind} ${name}`;
}

function Facts({ node }: { node: NodeView }) {
  const facts: [string, string][] = [
    ["Pool", node.pool],
    ["Place", Object.entries(node.place).map(([kind, name]) => placed(kind, name)).join(", ")],
    ["Jobs", node.jobs.join(", ")],
    ["Last full test", ago(node.tested_at)],
    ["Last report", ago(node.last_report_at)],
    [IN_SERVICE.has(node.stage) ? "Last cause" : "Cause", node.cause],
    ["Repair steps done", node.repair_step > 0 ? String(node.repair_step) : ""],
    ["Degraded by", node.degraded_by],
    ["Held by", node.held.replace(/\?$/, ", suspected")],
  ];
  return (
    <dl>
      {facts.map(
        ([name, value]) =>
          value && (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ),
      )}
    </dl>
  );
}

/** The roster is newer than the node's own response between two requests; the response has the verdicts. */
function useLiveView(name: string, detail: NodeDetail | null): NodeView | null {
  const [, redraw] = useState(0);
  useEffect(() => roster.observe(({ names }) => names.has(name) && redraw((n) => n + 1)), [name]);
  useEffect(() => {
    const ages = setInterval(() => redraw((n) => n + 1), 1000);
    return () => clearInterval(ages);
  }, []);
  const listed = roster.nodes.get(name);
  if (!listed || !detail) return listed ?? detail;
  return { ...listed, last_report_at: Math.max(listed.last_report_at ?? 0, detail.last_report_at ?? 0) || null };
}

function NoSuchNode({ name }: { name: string }) {
  return (
    <aside class="panel" aria-label={`Node ${name}`}>
      <h2>No such node</h2>
      <p>
        No node is called <code>{name}</code>. It may have been forgotten, or its name is mistyped.
      </p>
      <p class="row">
        <button type="button" class="primary" onClick={() => go({ node: "", find: "" })}>
          All nodes
        </button>
        <button type="button" onClick={() => go({ node: "", find: `name:${name}` })}>
          Search for it
        </button>
      </p>
    </aside>
  );
}

export function NodePanel({ name }: { name: string }) {
  const { detail, trouble, missing } = useNode(name);
  const node = useLiveView(name, detail);
  if (missing && !node) return <NoSuchNode name={name} />;
  const ready = detail !== null || trouble !== ""; // all at once, so that later parts do not move earlier ones
  return (
    <aside class="panel" aria-label={`Node ${name}`}>
      <div class="title">
        <h2>{name}</h2>
        {node?.twin && (
          <span class="badge" title="Simulated hardware">
            twin
          </span>
        )}
        <span class="spacer" />
        <button type="button" aria-label="Close" aria-keyshortcuts="Escape" onClick={() => go({ node: "" })}>
          ✕
        </button>
      </div>
      {!ready && <p class="empty">Loading …</p>}
      {ready && node && (
        <>
          <p class="state">
            <span class={`stage ${node.stage}`}>{node.stage}</span> for {lived(node.since)}, health{" "}
            <span class={`health ${node.health}`}>{node.health}</span>
          </p>
          {node.reason && <p class="why">{node.reason}</p>}
          <IncidentsHere name={name} />
          {detail?.next_step && <NextStepOf step={detail.next_step} node={name} />}
          <Facts node={node} />
          <Actions node={node} />
        </>
      )}
      {trouble && (
        <p class="trouble" role="alert">
          {trouble}
        </p>
      )}
      {detail && <Verdicts verdicts={detail.verdicts} leftOut={detail.verdicts_left_out} health={node?.health ?? detail.health} />}
      {ready && <Parts name={name} />}
      {ready && <PastIncidents name={name} />}
      {ready && <History name={name} />}
    </aside>
  );
}
