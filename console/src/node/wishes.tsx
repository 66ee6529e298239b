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

const DEEDS: Record<string, string> = {
  cordon: "nothing new starts there",
  drain: "nothing new starts there, what runs may end",
  uncordon: "the scheduler may use it again",
  retest: "it is tested in full",
  reset_gpu: "its GPUs are reset",
  reboot: "it is rebooted",
  inspect: "a person is asked to look at it",
  ticket: "a ticket is opened",
};

/** "Taken out by an operator. It becomes draining: nothing new starts there, what runs may end." */
function meaning(wish: OperatorActionView, dryRun: boolean): string {
  const deeds = wish.actions.map((verb) => DEEDS[verb] ?? verb);
  const pretence = dryRun && deeds.length > 0 ? " In this dry run that is recorded, and not carried out." : "";
  const words = wish.words.charAt(0).toUpperCase() + wish.words.slice(1);
  return `${words}. It becomes ${wish.stage}${deeds.length > 0 ? `: ${deeds.join("; ")}` : ""}.${pretence}`;
}

function Confirm({ node, wish, dryRun, close }: { node: string; wish: OperatorActionView; dryRun: boolean; close: () => void }) {
  const [reason, setReason] = useState("");
  const [trouble, setTrouble] = useState("");
  const [waiting, setWaiting] = useState(false);
  const [braked, setBraked] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  const send = async (force: boolean): Promise<void> => {
    setWaiting(true);
    try {
      await ask().wish(node, wish.wish, reason, force);
      close();
    } catch (error) {
      setTrouble(whyFailed(error));
      setBraked(!force && error instanceof Refused && error.code === "breaker");
      setWaiting(false);
    }
  };
  const submit = (event: Event): void => {
    event.preventDefault();
    void send(false);
  };
  return (
    <form class="confirm" onSubmit={submit} aria-label={`${NAMES[wish.wish]} ${node}`}>
      <p>{meaning(wish, dryRun)}</p>
      <label>
        Reason, for the node's story
        <input ref={field} value={reason} onInput={(event) => setReason(event.currentTarget.value)} maxLength={1000} required />
      </label>
      {trouble && (
        <p class="trouble" role="alert">
          {trouble}
        </p>
      )}
      <div class="row">
        <button type="submit" class="primary" disabled={waiting || !reason.trim()}>
          {NAMES[wish.wish]} {node}
        </button>
        {braked && (
          <button type="button" disabled={waiting || !reason.trim()} onClick={() => void send(true)}>
            {NAMES[wish.wish]} all the same
          </button>
        )}
        <button type="button" onClick={close}>
          Leave it
        </button>
      </div>
    </form>
  );
}

/** What may be asked of a node, with what it would do told before. Who may only look sees why the buttons are still. */
export function Wishes({ node }: { node: NodeView }) {
  const { value: me } = useAnswer(() => ask().me(), "me");
  const { value: shown, again } = useAnswer(() => ask().wishes(node.name), `${node.name} ${node.stage}`);
  const [chosen, choose] = useState("");
  if (!me || !shown) return null;
  const may = me.may.includes("operate");
  const wish = shown.wishes.find((one) => one.wish === chosen && one.possible);
  return (
    <section class="wishes" aria-label="Actions">
      <div class="row">
        {shown.wishes.map((one) => (
          <button
            key={one.wish}
            type="button"
            disabled={!may || !one.possible}
            aria-pressed={one.wish === chosen}
            title={one.possible ? meaning(one, shown.dry_run) : one.words}
            onClick={() => choose(one.wish === chosen ? "" : one.wish)}
          >
            {NAMES[one.wish] ?? one.wish}
          </button>
        ))}
      </div>
      {!may && <p class="hint">You look as a {me.role}: actions need an operator's token.</p>}
      {wish && may && (
        <Confirm
          key={wish.wish}
          node={node.name}
          wish={wish}
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
