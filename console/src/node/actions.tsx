import { useEffect, useRef, useState } from "preact/hooks";
import type { NodeView, OperatorActionView } from "../api";
import { Refused } from "../live/client";
import { ask, whyFailed } from "../live/session";
import { useAnswer } from "../live/use_answer";

const NAMES: Record<string, string> = {
  quarantine: "Quarantine",
  release: "Release",
  retest: "Test again",
  remove: "Remove",
};

const EFFECTS: Record<string, string> = {
  cordon: "no new work starts there",
  drain: "no new work starts there; running work may finish",
  uncordon: "the scheduler may use it again",
  retest: "the full test runs",
  reset_gpu: "its GPUs are reset",
  reboot: "it is rebooted",
  inspect: "an operator is asked to inspect it",
  ticket: "a ticket is opened",
};

/** "Taken out by an operator. It becomes draining: no new work starts there; running work may finish." */
function meaning(action: OperatorActionView, dryRun: boolean): string {
  const effects = action.actions.map((verb) => EFFECTS[verb] ?? verb);
  const dry = dryRun && effects.length > 0 ? " This is a dry run: the action is recorded and not carried out." : "";
  const description = action.description.charAt(0).toUpperCase() + action.description.slice(1);
  return `${description}. It becomes ${action.stage}${effects.length > 0 ? `: ${effects.join("; ")}` : ""}.${dry}`;
}

function Confirm({ node, action, dryRun, close }: { node: string; action: OperatorActionView; dryRun: boolean; close: () => void }) {
  const [reason, setReason] = useState("");
  const [trouble, setTrouble] = useState("");
  const [waiting, setWaiting] = useState(false);
  const [blocked, setBlocked] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  const send = async (force: boolean): Promise<void> => {
    setWaiting(true);
    try {
      await ask().act(node, action.request, reason, force);
      close();
    } catch (error) {
      setTrouble(whyFailed(error));
      setBlocked(!force && error instanceof Refused && error.code === "breaker");
      setWaiting(false);
    }
  };
  const submit = (event: Event): void => {
    event.preventDefault();
    void send(false);
  };
  return (
    <form class="confirm" onSubmit={submit} aria-label={`${NAMES[action.request]} ${node}`}>
      <p>{meaning(action, dryRun)}</p>
      <label>
        Reason, for the node's history
        <input ref={field} value={reason} onInput={(event) => setReason(event.currentTarget.value)} maxLength={1000} required />
      </label>
      {trouble && (
        <p class="trouble" role="alert">
          {trouble}
        </p>
      )}
      <div class="row">
        <button type="submit" class="primary" disabled={waiting || !reason.trim()}>
          {NAMES[action.request]} {node}
        </button>
        {blocked && (
          <button type="button" disabled={waiting || !reason.trim()} onClick={() => void send(true)}>
            {NAMES[action.request]} anyway
          </button>
        )}
        <button type="button" onClick={close}>
          Cancel
        </button>
      </div>
    </form>
  );
}

/** Actions on a node. Each button says what it will do; a viewer sees the buttons disabled, with the reason. */
export function Actions({ node }: { node: NodeView }) {
  const { value: me } = useAnswer(() => ask().me(), "me");
  const { value: shown, again } = useAnswer(() => ask().actions(node.name), node.name);
  const stage = useRef(node.stage);
  useEffect(() => {
    if (stage.current === node.stage) return;
    stage.current = node.stage; // read again in the background, so that a form that the user fills in stays
    again();
  }, [node.stage]);
  const [chosen, choose] = useState("");
  if (!me || !shown) return null;
  const may = me.may.includes("operate");
  const action = shown.requests.find((one) => one.request === chosen && one.possible);
  return (
    <section class="actions" aria-label="Actions">
      <div class="row">
        {shown.requests.map((one) => (
          <button
            key={one.request}
            type="button"
            disabled={!may || !one.possible}
            aria-pressed={one.request === chosen}
            title={one.possible ? meaning(one, shown.dry_run) : one.description}
            onClick={() => choose(one.request === chosen ? "" : one.request)}
          >
            {NAMES[one.request] ?? one.request}
          </button>
        ))}
      </div>
      {!may && <p class="hint">Your role is {me.role}. Actions need an operator's token.</p>}
      {action && may && (
        <Confirm
          key={action.request}
          node={node.name}
          action={action}
          dryRun={shown.dry_run}
          close={() => {
            choose("");
            again();
          }}
        />
      )}
    </section>
  );
}
