import { useEffect, useState } from "preact/hooks";
import type { NodeDetail } from "../api";
import { Refused } from "../live/client";
import { ask, connection, roster, whyFailed } from "../live/session";

const SETTLE_MILLISECONDS = 400;
const HEARTBEAT_MILLISECONDS = 15_000;

/** Calls `update` when the node changed, at most once per settling time: a burst of changes is one request. */
export function useOnUpdate(name: string, update: () => void): void {
  useEffect(() => {
    let timer = 0;
    const forget = roster.observe(({ names }) => {
      if (!names.has(name) || timer) return;
      timer = window.setTimeout(() => {
        timer = 0;
        update();
      }, SETTLE_MILLISECONDS);
    });
    return () => {
      forget();
      clearTimeout(timer);
    };
  }, [name]);
}

export function useNode(name: string): { detail: NodeDetail | null; trouble: string; missing: boolean } {
  const [detail, setDetail] = useState<NodeDetail | null>(null);
  const [trouble, setTrouble] = useState("");
  const [missing, setMissing] = useState(false);
  const load = (): void => {
    ask()
      .node(name)
      .then((answer) => {
        setDetail(answer);
        setTrouble("");
        setMissing(false);
      })
      .catch((error: unknown) => {
        setTrouble(`The node could not be read: ${whyFailed(error)}`);
        setMissing(error instanceof Refused && error.status === 404);
      });
  };
  const live = connection.value.kind === "live";
  useEffect(load, [name, live]);
  useOnUpdate(name, load);
  // Heartbeats are not streamed, so the time of the last report is requested.
  useEffect(() => {
    const timer = setInterval(load, HEARTBEAT_MILLISECONDS);
    return () => clearInterval(timer);
  }, [name]);
  return { detail, trouble, missing };
}
