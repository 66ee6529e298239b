import type { PoolView } from "../api";
import { go, route } from "../shell/route";
import { toggleWord } from "./filter";

function Pool({ pool }: { pool: PoolView }) {
  const word = `pool:${pool.pool}`;
  return (
    <li class={pool.breaker_open ? "pool tripped" : "pool"}>
      <button
        type="button"
        title={pool.reason}
        aria-pressed={route.value.find.split(/\s+/).includes(word)}
        onClick={() => go({ find: toggleWord(route.value.find, word) })}
      >
        <strong>{pool.pool}</strong>
        <span>{pool.nodes.toLocaleString("en")} nodes</span>
        <meter
          min={0}
          max={Math.max(1, pool.cap)}
          low={pool.cap / 2}
          high={pool.cap * 0.9}
          optimum={0}
          value={pool.out}
          aria-label={`out of service in pool ${pool.pool}`}
        />
        <span>
          {pool.out} out of service, {pool.cap} allowed{pool.testing > 0 && `; ${pool.testing} in a test`}
        </span>
        <span class="breaker">{pool.breaker_open ? "▲ breaker open, observing only" : "breaker closed"}</span>
        {pool.spares_short > 0 && <span class="short">{pool.spares_short} spares short</span>}
      </button>
    </li>
  );
}

export function Pools({ pools }: { pools: readonly PoolView[] }) {
  return (
    <ul class="pools" aria-label="Pools and their breakers">
      {pools.map((pool) => (
        <Pool key={pool.pool} pool={pool} />
      ))}
    </ul>
  );
}
