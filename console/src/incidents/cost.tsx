import type { Bill } from "../api";
import { amount, many, money, withFigures } from "../shell/figures";
import { lasting } from "../shell/time";
import { Growth } from "./growth";

function cell(value: number | null, currency: string): string {
  return value === null ? "not priced" : money(value, currency);
}

/** Labour alone is not a total. */
function total(bill: Bill, sum: number | undefined): number | null {
  return bill.measured === false ? null : (sum ?? 0);
}

interface Priced {
  bill: Bill;
  /** The incident is closed: its cost does not grow. */
  over: boolean;
}

function Lead({ bill, over }: Priced) {
  const tokens = bill.tokens ?? 0;
  const hourly = money(bill.cost_per_hour ?? 0, bill.currency);
  const labour = bill.layers?.find((layer) => layer.name === "labour")?.so_far ?? 0;
  if (bill.measured === false) {
    return (
      <p>
        <strong class="figure">Not known</strong>: it reaches jobs, and what they lose could not be measured.
        {labour > 0 && ` Labour so far: ${money(labour, bill.currency)}.`}
      </p>
    );
  }
  return (
    <p>
      <strong class="figure">{money(bill.total_so_far ?? 0, bill.currency)}</strong>{" "}
      {over ? "in all" : "so far"}
      {labour > 0 && `, of it ${money(labour, bill.currency)} labour`}
      {!over && `; ${hourly} more with every hour${labour > 0 ? ", without labour" : ""}`}. {amount(bill.gpu_hours ?? 0)} GPU-hours are lost
      {!over && `, and at this moment the work of ${amount(bill.gpu_hours_per_hour ?? 0)} GPUs`}
      {tokens > 0 && `, ${many(tokens)} tokens not trained`}
      {bill.finish_shift_hours * 3600 >= 1 && `; the finish ${over ? "moved" : "moves"} by ${lasting(bill.finish_shift_hours * 3600)}`}.
    </p>
  );
}

function How({ bill }: { bill: Bill }) {
  return (
    <details>
      <summary>How it is computed</summary>
      <dl class="counted">
        {bill.layers.map((layer) => (
          <div key={layer.name}>
            <dt>{layer.name}</dt>
            <dd>
              {layer.formula}
              {layer.inputs && <p class="faint">{withFigures(layer.inputs)}</p>}
            </dd>
          </div>
        ))}
      </dl>
      {bill.unpriced.map((why) => (
        <p key={why} class="faint">
          {why}
        </p>
      ))}
    </details>
  );
}

export function Cost({ bill, over }: Priced) {
  return (
    <section aria-label="Cost">
      <h3>{over ? "What it cost" : "What it costs"}</h3>
      <Lead bill={bill} over={over} />
      {bill.measured !== false && !over && <Growth bill={bill} />}
      <div class="scroll" role="region" aria-label="Cost by layer" tabIndex={0}>
        <table class="layers">
          <thead>
            <tr>
              <th scope="col">Layer</th>
              <th scope="col" class="number">
                {over ? "Cost" : "So far"}
              </th>
              {!over && (
                <th scope="col" class="number">
                  After {lasting(bill.horizon_hours * 3600)} more
                </th>
              )}
            </tr>
          </thead>
          <tbody>
            {bill.layers.map((layer, at) => (
              <tr key={layer.name}>
                <th scope="row">
                  <span class={`swatch layer${at}`} aria-hidden="true" /> {layer.name}
                </th>
                <td class="number">{cell(layer.so_far, bill.currency)}</td>
                {!over && <td class="number">{cell(layer.if_it_goes_on, bill.currency)}</td>}
              </tr>
            ))}
            <tr class="total">
              <th scope="row">total</th>
              <td class="number">{cell(total(bill, bill.total_so_far), bill.currency)}</td>
              {!over && <td class="number">{cell(total(bill, bill.total_if_it_goes_on), bill.currency)}</td>}
            </tr>
          </tbody>
        </table>
      </div>
      <How bill={bill} />
    </section>
  );
}
