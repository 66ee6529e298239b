import type { Bill } from "../api";

export function money(value: number, currency: string): string {
  return `${value.toLocaleString("en", { maximumFractionDigits: value < 100 ? 2 : 0 })} ${currency}`;
}

/** What could be priced; a layer without a price is told as such beside it. */
export function sum(bill: Bill, when: "so_far" | "if_it_goes_on"): number {
  return bill.layers.reduce((all, layer) => all + (layer[when] ?? 0), 0);
}

function cell(value: number | null, currency: string): string {
  return value === null ? "not priced" : money(value, currency);
}

/** A layer's bar grows inside what it becomes if nobody mends it; all layers on one scale. */
function Grown({ now, then, most }: { now: number | null; then: number | null; most: number }) {
  if (now === null || then === null) return null;
  return (
    <svg class="grown" viewBox="0 0 200 12" preserveAspectRatio="none" aria-hidden="true">
      <rect class="then" width={(200 * Math.max(now, then)) / most} height={12} />
      <rect class="now" width={(200 * now) / most} height={12} />
    </svg>
  );
}

export function Cost({ bill }: { bill: Bill }) {
  const most = Math.max(1e-9, ...bill.layers.map((layer) => Math.max(layer.so_far ?? 0, layer.if_it_goes_on ?? 0)));
  return (
    <section aria-label="Cost">
      <h3>What it costs</h3>
      <p class="lead">
        {bill.gpu_hours.toPrecision(3)} GPU-hours so far, {bill.gpu_hours_per_hour.toPrecision(3)} more each hour
        {bill.tokens != null && bill.tokens > 0 && `, ${bill.tokens.toExponential(2)} tokens not trained`}
        {bill.finish_shift_hours > 0 && `; the finish moves by ${bill.finish_shift_hours.toFixed(1)} h`}.
      </p>
      <div class="scroll" role="region" aria-label="Cost by layer" tabIndex={0}>
        <table>
          <thead>
            <tr>
              <th scope="col">Layer</th>
              <th scope="col">So far</th>
              <th scope="col">Now, of what it becomes</th>
              <th scope="col">After {bill.horizon_hours.toFixed(0)} h more</th>
              <th scope="col">How it is counted</th>
            </tr>
          </thead>
          <tbody>
            {bill.layers.map((layer) => (
              <tr key={layer.name}>
                <th scope="row">{layer.name}</th>
                <td class="number">{cell(layer.so_far, bill.currency)}</td>
                <td>
                  <Grown now={layer.so_far} then={layer.if_it_goes_on} most={most} />
                </td>
                <td class="number">{cell(layer.if_it_goes_on, bill.currency)}</td>
                <td class="faint">
                  {layer.formula}
                  {layer.inputs && `; ${layer.inputs}`}
                </td>
              </tr>
            ))}
            <tr class="total">
              <th scope="row">all</th>
              <td class="number">{money(sum(bill, "so_far"), bill.currency)}</td>
              <td />
              <td class="number">{money(sum(bill, "if_it_goes_on"), bill.currency)}</td>
              <td class="faint">{bill.unpriced.join("; ")}</td>
            </tr>
          </tbody>
        </table>
      </div>
    </section>
  );
}
