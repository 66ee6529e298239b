import { useEffect, useRef, useState } from "preact/hooks";
import type { DrillRunView, DrillsView } from "../api";
import { ask, whyFailed } from "../live/session";
import { useAnswer } from "../live/use_answer";
import { percent } from "../shell/figures";
import { open, route } from "../shell/route";
import { Table, View } from "../shell/view";
import { Replay } from "./replay";
import { Result } from "./result";
import { useRun } from "./use_run";

const REFRESH_SECONDS = 5;

function Progress({ run, may, onCancel }: { run: DrillRunView; may: boolean; onCancel: () => void }) {
  const words = { playing: "is running", done: "is complete", cancelled: "was cancelled", failed: "failed" }[run.state] ?? run.state;
  return (
    <div class="replay" role="status">
      <strong>
        {run.title} {words}
      </strong>
      {run.state === "playing" && (
        <>
          <progress max={1} value={run.share} aria-label="Progress of the drill" />
          <span>{percent(run.share)}</span>
          {may && (
            <button type="button" onClick={onCancel}>
              Cancel
            </button>
          )}
        </>
      )}
      {run.state === "failed" && <span class="trouble">{run.reason}</span>}
      <span class="faint">started by {run.by}</span>
    </div>
  );
}

function List({ value, onPlay }: { value: DrillsView; onPlay: (drill: string) => void }) {
  const playing = value.run?.state === "playing";
  const titles = new Map(value.drills.map(({ name, title }) => [name, title]));
  return (
    <Table heads={["Drill", "What happens", "Easily taken for", "Nodes", "Run"]} caption="Included drills">
      {value.drills.map((drill) => (
        <tr key={drill.name} class={drill.name === route.value.item ? "chosen" : ""}>
          <th scope="row">{drill.title}</th>
          <td>{drill.about}</td>
          <td>{titles.get(drill.pair) ?? drill.pair}</td>
          <td class="number">{drill.nodes}</td>
          <td>
            <button type="button" disabled={!value.may_play || playing} aria-label={`Run ${drill.title}`} onClick={() => onPlay(drill.name)}>
              Run
            </button>
          </td>
        </tr>
      ))}
    </Table>
  );
}

export function DrillPage() {
  const { value, trouble, again } = useAnswer(() => ask().drills(), "drills", REFRESH_SECONDS);
  const [refused, setRefused] = useState("");
  const top = useRef<HTMLParagraphElement>(null);
  const { run, outcome, trouble: lost } = useRun(value?.run?.id ?? null);
  useEffect(() => void (run && run.state !== "playing" && again()), [run?.state]);
  const act = (request: Promise<unknown>): void => {
    setRefused("");
    request.then(again).catch((error: unknown) => setRefused(whyFailed(error)));
  };
  const play = (drill: string): void => {
    open("drill", drill);
    top.current?.scrollIntoView(); // the progress is shown there
    act(ask().playDrill(drill));
  };
  return (
    <View title="Drill" what="The drills" trouble={trouble || lost}>
      <p class="lead" ref={top}>
        Simulated incidents with a known cause. The real rules evaluate them in a separate process; the fleet is not affected.
        {value && !value.may_play && " Your role is viewer: running a drill needs an operator's token."}
      </p>
      {refused && (
        <p class="trouble" role="alert">
          {refused}
        </p>
      )}
      {run && <Progress run={run} may={value?.may_play ?? false} onCancel={() => act(ask().cancelDrill())} />}
      {outcome && run?.state === "done" && (
        <>
          <p class="lead">{outcome.about}</p>
          <Result outcome={outcome} />
          <Replay key={run.id} outcome={outcome} />
        </>
      )}
      {value && <List value={value} onPlay={play} />}
    </View>
  );
}
