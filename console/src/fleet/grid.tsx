import { signal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { NodeView } from "../api";
import { roster } from "../live/session";
import { go, route } from "../shell/route";
import { gapOf, hit, move, type Arrangement, type Key } from "./arrange";
import { Sheet } from "./sheet";

/** The name of the node with the keyboard cursor, so that the cursor stays on its node when cells move. */
const cursor = signal("");

const MOVES: ReadonlySet<string> = new Set<Key>(["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End"]);

function describe(node: NodeView): string {
  const why = node.reason && `: ${node.reason}`;
  return `${node.name}, pool ${node.pool}, ${node.stage}, health ${node.health}${why}`;
}

interface Pointed {
  name: string;
  x: number;
  y: number;
}

interface Props {
  zoom: number;
  onArranged: (arrangement: Arrangement) => void;
}

/** Keys act on the visible arrangement: the listener is replaced before the next arrangement is painted. */
function useKeys(arrangement: Arrangement | null, frame: { current: HTMLDivElement | null }): void {
  useLayoutEffect(() => {
    const press = (event: KeyboardEvent): void => {
      const here = event.target === document.body || event.target === frame.current;
      if (!arrangement || !here || event.ctrlKey || event.altKey || event.metaKey) return;
      if (MOVES.has(event.key)) {
        event.preventDefault();
        const from = arrangement.at.get(cursor.value) ?? -1;
        const next = move(arrangement, from, event.key as Key);
        cursor.value = arrangement.names[next] ?? "";
        bringIntoView(frame.current, arrangement, next);
      } else if (event.key === "Enter" && cursor.value) {
        go({ node: cursor.value });
      }
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, [arrangement]);
}

function bringIntoView(box: HTMLElement | null, { ys, pitch }: Arrangement, index: number): void {
  const y = ys[index];
  if (!box || y === undefined) return;
  if (y < box.scrollTop) box.scrollTop = y - pitch * 2;
  else if (y + pitch > box.scrollTop + box.clientHeight) box.scrollTop = y + pitch * 2 - box.clientHeight;
}

function Ring({ arrangement, name, kind }: { arrangement: Arrangement; name: string; kind: string }) {
  const index = arrangement.at.get(name);
  if (index === undefined) return null;
  const gap = gapOf(arrangement.pitch);
  const style = {
    transform: `translate(${arrangement.xs[index]}px, ${arrangement.ys[index]}px)`,
    width: `${arrangement.pitch - gap}px`,
    height: `${arrangement.pitch - gap}px`,
  };
  return <div class={`ring ${kind}`} style={style} />;
}

function Tip({ pointed }: { pointed: Pointed }) {
  const node = roster.nodes.get(pointed.name);
  if (!node) return null;
  const left = `${Math.min(pointed.x + 14, innerWidth - 340)}px`;
  const below = pointed.y < innerHeight - 160;
  const style = below ? { left, top: `${pointed.y + 16}px` } : { left, bottom: `${innerHeight - pointed.y + 12}px` };
  return (
    <div class="tip" style={style}>
      <strong>{node.name}</strong> {node.stage}, {node.health}
      {node.reason && <p>{node.reason}</p>}
    </div>
  );
}

function useSheet({ zoom, onArranged }: Props) {
  const frame = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const sheet = useRef<Sheet | null>(null);
  const [arrangement, setArrangement] = useState<Arrangement | null>(null);
  useEffect(() => {
    if (!frame.current || !canvas.current) return;
    sheet.current = new Sheet(frame.current, canvas.current, (next) => {
      setArrangement(next);
      onArranged(next);
    });
    return () => sheet.current?.close();
  }, []);
  useLayoutEffect(() => sheet.current?.zoomTo(zoom), [zoom]);
  return { frame, canvas, arrangement };
}

export function Grid(props: Props) {
  const { frame, canvas, arrangement } = useSheet(props);
  useKeys(arrangement, frame);
  const [pointed, setPointed] = useState<Pointed | null>(null);

  const under = (event: MouseEvent): string => {
    const box = frame.current;
    if (!box || !arrangement) return "";
    const { left, top } = box.getBoundingClientRect();
    const index = hit(arrangement, event.clientX - left, event.clientY - top + box.scrollTop);
    return arrangement.names[index] ?? "";
  };
  const point = (event: MouseEvent): void => {
    const name = under(event);
    setPointed(name ? { name, x: event.clientX, y: event.clientY } : null);
  };
  const open = (event: MouseEvent): void => {
    const name = under(event);
    if (!name) return;
    cursor.value = name;
    go({ node: name });
  };

  const index = arrangement?.at.get(cursor.value);
  const node = roster.nodes.get(cursor.value);
  const total = arrangement?.names.length ?? 0;
  return (
    <div
      id="grid"
      class={pointed ? "grid pointing" : "grid"}
      ref={frame}
      tabIndex={0}
      role="listbox"
      aria-label={`Fleet, ${total} nodes. Arrow keys move, Enter opens a node.`}
      aria-activedescendant={index === undefined ? undefined : "active-node"}
      onMouseMove={point}
      onMouseLeave={() => setPointed(null)}
      onClick={open}
    >
      <canvas ref={canvas} aria-hidden="true" />
      <div class="extent" style={{ height: `${arrangement?.height ?? 0}px` }}>
        {arrangement && <Ring arrangement={arrangement} name={route.value.node} kind="opened" />}
        {arrangement && <Ring arrangement={arrangement} name={cursor.value} kind="cursor" />}
      </div>
      <div
        id="active-node"
        class="unseen"
        role="option"
        aria-selected={index !== undefined}
        aria-posinset={(index ?? 0) + 1}
        aria-setsize={total}
      >
        {node ? describe(node) : "No node selected"}
      </div>
      {pointed && <Tip pointed={pointed} />}
    </div>
  );
}
