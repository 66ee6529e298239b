import type { LeafPairView, ProbesView } from "../api";
import { incidents } from "../live/session";
import { percent } from "../shell/figures";
import { livedBetween } from "../shell/time";
import { BELOW, isSuspect, level, suspectsOf } from "./slow_parts";

function describe(one: string, other: string, pair: LeafPairView | undefined, at: number): string {
  if (!pair || pair.proven_at === null) return `${one} with ${other}: not proven within the period`;
  const speed = pair.bytes_per_second === null ? "" : `, ${(pair.bytes_per_second / 1e9).toFixed(1)} GB/s`;
  const share = pair.ratio === null ? "" : `, ${percent(Math.round(pair.ratio * 100) / 100)} of the usual`;
  return `${one} with ${other}: proven ${livedBetween(pair.proven_at, at)} ago${speed}${share}`;
}

/** A cell shows its share of the usual value as a number too, not only as a colour. */
function Cell({ one, other, pair, probes }: { one: string; other: string; pair: LeafPairView | undefined; probes: ProbesView }) {
  const suspected = suspectsOf(probes, incidents.value).some(({ subject }) => isSuspect(subject, one, other));
  const words = `${describe(one, other, pair, probes.at)}${suspected ? "; suspected" : ""}`;
  const figure = pair?.proven_at == null ? "–" : pair.ratio === null ? "?" : Math.round(pair.ratio * 100);
  return (
    <td class={level(pair, suspected)} title={words} aria-label={words}>
      {figure}
    </td>
  );
}

const MOST_SLOW = 50;
const FITS = 5; // leaves on a phone

/** The list for a fleet with too many leaves for a matrix. */
function Slowest({ probes }: { probes: ProbesView }) {
  return (
    <div class="scroll" role="region" aria-label="Slowest pairs of leaves" tabIndex={0}>
      <table>
        <caption>The slowest proven pairs of leaves; {probes.pairs.toLocaleString("en")} pairs are too many for a matrix</caption>
        <tbody>
          {probes.leaves.slice(0, MOST_SLOW).map((pair) => (
            <tr key={`${pair.one} ${pair.other}`}>
              <th scope="row">
                {pair.one} with {pair.other}
              </th>
              <Cell one={pair.one} other={pair.other} pair={pair} probes={probes} />
            </tr>
          ))}
        </tbody>
      </table>
      {probes.leaves.length === 0 && <p class="empty">No pair has been proven within the period.</p>}
    </div>
  );
}

export function Matrix({ probes }: { probes: ProbesView }) {
  const leaves = [...new Set(probes.leaves.flatMap(({ one, other }) => [one, other]))].toSorted();
  const pairs = new Map(probes.leaves.flatMap((pair) => [[`${pair.one} ${pair.other}`, pair], [`${pair.other} ${pair.one}`, pair]]));
  if (probes.pairs > probes.leaves.length) return <Slowest probes={probes} />;
  if (leaves.length === 0) return <p class="empty">No leaf is known. Set the leaf in the place of each node, or enable probing.</p>;
  return (
    <>
      <p class="faint">Last probe session of each pair of leaves, in percent of the usual bandwidth; – is not proven</p>
      <div class="scroll" role="region" aria-label="Bandwidth between leaves" tabIndex={0}>
        <table class={leaves.length > FITS ? "matrix wide" : "matrix"} aria-label="Last probe session of each pair of leaves, in percent of the usual bandwidth">
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
                  <Cell key={other} one={one} other={other} pair={pairs.get(`${one} ${other}`)} probes={probes} />
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p class="faint">
        Red and bold is a suspect. Amber was below {percent(BELOW)} in its last session: healthy pairs vary, so this counts only
        if it repeats.
      </p>
    </>
  );
}
