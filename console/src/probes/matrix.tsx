import type { LeafPairView, ProbesView } from "../api";
import { age } from "../shell/time";

const SLOW = 0.8;
const WORTH_A_LOOK = 0.95;

function level(pair: LeafPairView | undefined): string {
  if (!pair || pair.proven_at === null) return "unproven";
  if (pair.ratio === null) return "unjudged";
  return pair.ratio < SLOW ? "slow" : pair.ratio < WORTH_A_LOOK ? "below" : "usual";
}

function told(one: string, other: string, pair: LeafPairView | undefined, at: number): string {
  if (!pair || pair.proven_at === null) return `${one} with ${other}: not proven within the period`;
  const speed = pair.bytes_per_second === null ? "" : `, ${(pair.bytes_per_second / 1e9).toFixed(1)} GB/s`;
  const share = pair.ratio === null ? "" : `, ${Math.round(pair.ratio * 100)} % of the usual`;
  return `${one} with ${other}: proven ${age(pair.proven_at, at)} ago${speed}${share}`;
}

/** A cell says its share of the usual in figures too: colour is never the only sign. */
function Cell({ one, other, pair, at }: { one: string; other: string; pair: LeafPairView | undefined; at: number }) {
  const words = told(one, other, pair, at);
  const figure = pair?.proven_at == null ? "–" : pair.ratio === null ? "?" : Math.round(pair.ratio * 100);
  return (
    <td class={level(pair)} title={words} aria-label={words}>
      {figure}
    </td>
  );
}

export function Matrix({ probes }: { probes: ProbesView }) {
  const leaves = [...new Set(probes.leaves.flatMap(({ one, other }) => [one, other]))].toSorted();
  const pairs = new Map(probes.leaves.flatMap((pair) => [[`${pair.one} ${pair.other}`, pair], [`${pair.other} ${pair.one}`, pair]]));
  if (leaves.length === 0) return <p class="empty">No leaf is known: nodes enrol with their place, or nobody probes yet.</p>;
  return (
    <div class="scroll" role="region" aria-label="Bandwidth between leaves" tabIndex={0}>
      <table class="matrix">
        <caption>Bandwidth between leaves in per cent of the usual; – is not proven</caption>
        <thead>
          <tr>
            <td />
            {leaves.map((leaf) => (
              <th key={leaf} scope="col">
                {leaf}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {leaves.map((one) => (
            <tr key={one}>
              <th scope="row">{one}</th>
              {leaves.map((other) => (
                <Cell key={other} one={one} other={other} pair={pairs.get(`${one} ${other}`)} at={probes.at} />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
