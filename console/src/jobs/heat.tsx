import type { RankView } from "../api";
import { HOME, go } from "../shell/route";

/** Time per phase of each rank, compared with the median of its peers. Each cell has a number too, not only a colour. */

export const PHASES = ["compute", "data", "wait", "checkpoint", "step"] as const;
export type Phase = (typeof PHASES)[number];

const NAMES: Record<Phase, string> = { compute: "Compute", data: "Data", wait: "Waiting", checkpoint: "Checkpoint", step: "Whole step" };
const MOST_ROWS = 128;
const SLOW = 1.1;
const ELEVATED = 1.04;
/** Share of a step below which a phase is not evaluated. */
const NOTHING = 0.01;

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  const at = Math.floor(sorted.length / 2);
  return sorted.length % 2 ? (sorted[at] ?? 0) : ((sorted[at - 1] ?? 0) + (sorted[at] ?? 0)) / 2;
}

/** A slow rank waits least, so waiting time is shown and not evaluated. */
export function level(phase: Phase, value: number, usual: number, step: number): string {
  if (phase === "wait" || value < NOTHING * step) return "plain";
  const ratio = value / (usual || value);
  return ratio >= SLOW ? "slow" : ratio >= ELEVATED ? "below" : "usual";
}

/** Values of ranks that separate waiting from computing; other ranks have neither. */
function known(ranks: readonly RankView[], phase: Phase): number[] {
  return ranks.map((rank) => rank[phase]).filter((value) => value != null);
}

/** The slowest first, then by number. */
export function ordered(ranks: readonly RankView[]): readonly RankView[] {
  const usual = median(known(ranks, "compute"));
  const slow = (rank: RankView): number => (usual && (rank.compute ?? 0) / usual >= SLOW ? (rank.compute ?? 0) : 0);
  return ranks.toSorted((one, other) => slow(other) - slow(one) || one.rank - other.rank);
}

function Cell({ phase, value, usual }: { phase: Phase; value: number | null | undefined; usual: Record<Phase, number> }) {
  if (value == null) return <td class="plain">unknown</td>;
  return <td class={level(phase, value, usual[phase], usual.step)}>{value.toPrecision(3)}</td>;
}

export function HeatMap({ ranks, leftOut }: { ranks: readonly RankView[]; leftOut: number }) {
  if (ranks.length === 0) return <p class="faint">No rank reports its step times.</p>;
  const usual = Object.fromEntries(PHASES.map((phase) => [phase, median(known(ranks, phase))])) as Record<Phase, number>;
  const shown = ordered(ranks).slice(0, MOST_ROWS);
  const mixed = ranks.some((rank) => rank.compute == null);
  const hidden = ranks.length - shown.length + leftOut;
  return (
    <div class="scroll tall" role="region" aria-label="Ranks and phases" tabIndex={0}>
      <table class="matrix heat">
        <caption>
          Seconds per step, by rank and phase; red and bold is 10 % or more above the median of its peers{hidden > 0 && `; ${hidden.toLocaleString("en")} faster ranks are not shown`}
          {mixed && "; some ranks do not separate waiting from computing, so both are unknown (docs/progress.md)"}
        </caption>
        <thead>
          <tr>
            <th scope="col">Rank</th>
            <th scope="col">Node</th>
            {PHASES.map((phase) => (
              <th key={phase} scope="col">
                {NAMES[phase]}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {shown.map((rank) => (
            <tr key={rank.rank}>
              <th scope="row">{rank.rank}</th>
              <th scope="row">
                <button type="button" class="link" onClick={() => go({ ...HOME, node: rank.node })}>
                  {rank.node}
                </button>
                {rank.gpu != null && ` GPU ${rank.gpu}`}
              </th>
              {PHASES.map((phase) => (
                <Cell key={phase} phase={phase} value={rank[phase]} usual={usual} />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
