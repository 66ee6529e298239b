/** Leaves under their spines, and an arc for each pair of leaves: proven, below the usual, unproven or suspected. */

import type { ProbesView } from "../api";
import { incidents, roots } from "../live/session";
import { isSuspect, level, suspectsOf } from "../probes/slow_parts";
import { amount, percent } from "../shell/figures";
import { open } from "../shell/route";
import { REMARKABLE, worstOf, type LeafBox, type PairState } from "./map";

const STATE: Record<string, PairState> = { slow: "suspect", below: "below", unproven: "unproven" };
const MEANS: Record<PairState, string> = { suspect: "suspected", below: "below the usual", unproven: "not proven", proven: "as usual" };
const MOST_ARCS = 24;
const BOX = { width: 92, height: 34, gap: 18 };
/** Room for the frame of the outermost boxes. */
const EDGE = 3;

interface Pair {
  one: number;
  other: number;
  state: PairState;
  words: string;
}

export function pairsOf(leaves: readonly LeafBox[], probes: ProbesView | null): Pair[] {
  if (!probes) return [];
  const place = new Map(leaves.map(({ name }, at) => [name, at]));
  return probes.leaves.flatMap((pair) => {
    const [one, other] = [place.get(pair.one), place.get(pair.other)];
    if (one === undefined || other === undefined || one === other) return [];
    const suspected = suspectsOf(probes, incidents.value).some(({ subject }) => isSuspect(subject, pair.one, pair.other));
    const state = STATE[level(pair, suspected)] ?? "proven";
    const share = pair.ratio === null ? "" : `, ${percent(Math.round(pair.ratio * 100) / 100)} of the usual`;
    return [{ one, other, state, words: `${pair.one} with ${pair.other}: ${MEANS[state]}${share}` }];
  });
}

function Arc({ pair, bottom }: { pair: Pair; bottom: number }) {
  const middle = (at: number): number => EDGE + at * (BOX.width + BOX.gap) + BOX.width / 2;
  const [from, to] = [middle(Math.min(pair.one, pair.other)), middle(Math.max(pair.one, pair.other))];
  const high = bottom - 18 - (bottom - 26) * Math.min(1, (to - from) / (6 * (BOX.width + BOX.gap)));
  return (
    <path class={`pair ${pair.state}`} d={`M${from} ${bottom} C${from} ${high} ${to} ${high} ${to} ${bottom}`}>
      <title>{pair.words}</title>
    </path>
  );
}

function inside(probes: ProbesView): string {
  return amount(probes.leaves.filter((pair) => pair.one === pair.other && pair.proven_at !== null).length);
}

const FITS = 3; // leaves on a phone

export function Fabric({ leaves, probes, lit }: { leaves: readonly LeafBox[]; probes: ProbesView | null; lit: ReadonlySet<string> | null }) {
  if (leaves.length === 0) return <p class="empty">No node names its leaf. Set the leaf in the place of each node.</p>;
  const all = pairsOf(leaves, probes);
  const drawn = (leaves.length > MOST_ARCS ? all.filter((pair) => REMARKABLE.has(pair.state)) : all).toSorted(
    (one, other) => Number(one.state === "suspect") - Number(other.state === "suspect"),
  );
  const width = leaves.length * (BOX.width + BOX.gap) - BOX.gap + 2 * EDGE;
  const bottom = leaves.length > 1 ? 20 + Math.min(100, 10 * leaves.length) : 20;
  const counts = (state: PairState): number => all.filter((pair) => pair.state === state).length;
  const spines = [...new Set(leaves.flatMap((leaf) => leaf.spines))];
  const words = (["suspect", "below", "unproven", "proven"] as const).map((state) => `${counts(state)} ${MEANS[state]}`).join(", ");
  return (
    <>
      <p class="faint">
        {spines.length > 0 ? `Spines: ${spines.join(", ")}. ` : ""}
        {probes ? `${amount(probes.proven)} of ${amount(probes.pairs)} pairs proven, ${inside(probes)} of them inside one leaf. ` : ""}Between two leaves: {words}.{" "}
        <button type="button" class="link" onClick={() => open("probes")}>
          Probes
        </button>
      </p>
      <div class="scroll" role="region" aria-label="Leaves and the pairs between them" tabIndex={0}>
        <svg class={leaves.length > FITS ? "fabric wide" : "fabric"} width={width} height={bottom + BOX.height + 4} role="img" aria-label={`${leaves.length} leaves; pairs: ${words}`}>
          {drawn.map((pair) => (
            <Arc key={`${pair.one} ${pair.other}`} pair={pair} bottom={bottom} />
          ))}
          {leaves.map((leaf, at) => (
            <g key={leaf.name} class={`leaf ${worstOf(leaf.nodes)} ${lit ? (lit.has(`leaf/${leaf.name}`) ? "lit" : "dim") : ""}`} transform={`translate(${EDGE + at * (BOX.width + BOX.gap)} ${bottom})`}>
              <title>{`${leaf.name}: ${leaf.nodes.length} nodes, the worst ${worstOf(leaf.nodes)}`}</title>
              <rect width={BOX.width} height={BOX.height} rx={5} />
              <text x={BOX.width / 2} y={15} text-anchor="middle">
                {roots.value.has(`leaf/${leaf.name}`) && "▲ "}
                {leaf.name}
              </text>
              <text class="small" x={BOX.width / 2} y={28} text-anchor="middle">
                {leaf.nodes.length} nodes
              </text>
            </g>
          ))}
        </svg>
      </div>
      <ul class="pair-key" aria-label="What the lines mean">
        {(["proven", "below", "unproven", "suspect"] as const).map((state) => (
          <li key={state}>
            <svg width={30} height={10} aria-hidden="true">
              <path class={`pair ${state}`} d="M1 5H29" />
            </svg>{" "}
            {MEANS[state]}
          </li>
        ))}
      </ul>
    </>
  );
}
