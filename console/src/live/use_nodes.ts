import { useEffect, useState } from "preact/hooks";
import type { NodeView } from "../api";
import { roster } from "./session";

const EVERY_MILLISECONDS = 1000;

/** All nodes, at most once a second: for views that draw them as elements. */
export function useNodes(): readonly NodeView[] {
  const [nodes, setNodes] = useState<readonly NodeView[]>(() => [...roster.nodes.values()]);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let empty = roster.nodes.size === 0;
    const read = (): void => {
      timer = undefined;
      empty = roster.nodes.size === 0;
      setNodes([...roster.nodes.values()]);
    };
    // The first nodes are drawn at once, because an empty map would be wrong.
    const stop = roster.observe(() => (empty ? read() : void (timer ??= setTimeout(read, EVERY_MILLISECONDS))));
    read();
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, []);
  return nodes;
}
