import { useEffect, useState } from "preact/hooks";
import type { NodeDetail } from "../api";
import { ask, connection, roster, whyFailed } from "../live/session";

const SETTLE_MILLISECONDS = 400;
const HEARTBEAT_MILLISECONDS = 15_000;

/** Call when the node was heard of anew, at most once per settling time: a burst of changes is one question. */
export function useOnNews(name: string, tell: () => void): void {
  useEffect(() => {
    let timer = 0;
    const forget = roster.observe(({ names }) => {
      if (!names.has(name) || timer) return;
      timer = window.setTimeout(() => {
        timer = 0;
        tell();
      }, SETTLE_MILLISECONDS);
    });
    return () => {
      forget();
      clearTimeout(timer);
    };
  }, [name]);
}

export function useNode(name: string): { detail: NodeDetail | null; trouble: string } {
  const [detail, setDetail] = useState<NodeDetail | null>(null);
  const [trouble, setTrouble] = useState("");
  const load = (): void => {
    ask()
      .node(name)
      .then((answer) => {
        setDetail(answer);
        setTrouble("");
      })
      .catch((error: unknown) => setTrouble(`The node could not be read: ${whyFailed(error)}`));
  };
  const live = connection.value.kind === "live";
  useEffect(load, [name, live]);
  useOnNews(name, load);
  // Heartbeats are not streamed, so "last heard" is asked for.
  useEffect(() => {
    const timer = setInterval(load, HEARTBEAT_MILLISECONDS);
    return () => clearInterval(timer);
  }, [name]);
  return { detail, trouble };
}
