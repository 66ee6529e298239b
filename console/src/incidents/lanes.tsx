import type { Account } from "../api";
import type { Span } from "../shell/chart";
import { timeOfDay } from "../shell/time";

const MOST_MARKS = 400;

/** Events of every domain, one lane each, on the time axis of the signals below. */
export function Lanes({ account, axis }: { account: Account; axis: Span }) {
  const moments = account.timeline.slice(-MOST_MARKS).filter(({ at }) => at >= axis.from && at <= axis.to);
  const domains = [...new Set(moments.map(({ domain }) => domain))];
  if (domains.length === 0) return null;
  const x = (at: number): string => `${(((at - axis.from) / (axis.to - axis.from || 1)) * 100).toFixed(2)}%`;
  return (
    <div class="lanes">
      {domains.map((domain) => (
        <div key={domain} class="lane">
          <span class="faint">{domain}</span>
          <svg role="img" aria-label={`${domain}: ${moments.filter((one) => one.domain === domain).length} moments`}>
            <line class="since" x1={x(account.since)} x2={x(account.since)} y1={0} y2="100%" />
            {moments
              .filter((one) => one.domain === domain)
              .map((one) => (
                <circle key={`${one.at} ${one.text}`} cx={x(one.at)} cy="50%" r={4}>
                  <title>{`${timeOfDay(one.at)} ${one.text}`}</title>
                </circle>
              ))}
          </svg>
        </div>
      ))}
    </div>
  );
}
