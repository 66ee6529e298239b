/** The ledger as one bar; the parts always add up to the total. All views use these category names. */

import { amount, percent } from "../shell/figures";

export const PARTS = ["productive", "degraded", "checkpoint", "rework", "restart", "waiting", "idle", "unknown"] as const;

export function LedgerBar({ hours }: { hours: Readonly<Record<string, number>> }) {
  const whole = PARTS.reduce((all, part) => all + (hours[part] ?? 0), 0);
  if (whole <= 0) return <p class="faint">No GPU-hour has been counted yet.</p>;
  const shares = PARTS.map((part) => ({ part, hours: hours[part] ?? 0, share: (hours[part] ?? 0) / whole }));
  let x = 0;
  return (
    <div class="ledger">
      <svg viewBox="0 0 1000 28" preserveAspectRatio="none" role="img" aria-label={shares.map(({ part, share }) => `${part} ${percent(share)}`).join(", ")}>
        {shares.map(({ part, share }) => {
          const from = x;
          x += share * 1000;
          return <rect key={part} class={part} x={from} y={0} width={share * 1000} height={28} />;
        })}
      </svg>
      <ul>
        {shares
          .filter(({ hours: spent }) => spent > 0)
          .map(({ part, hours: spent, share }) => (
            <li key={part}>
              <span class={`swatch ${part}`} aria-hidden="true" /> {part} <strong>{percent(share)}</strong>{" "}
              <span class="faint">{amount(spent)} GPU-h</span>
            </li>
          ))}
      </ul>
    </div>
  );
}
