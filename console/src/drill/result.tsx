import { amount, money, percent, withFigures } from "../shell/figures";
import { Table } from "../shell/view";
import { minute, verdict, type DrillOutcome } from "./outcome";

const dollars = (value: number | null): string => (value === null ? "not priced" : money(value));

function Truth({ outcome }: { outcome: DrillOutcome }) {
  if (outcome.truth.length === 0) return <p>The truth: nothing is wrong.</p>;
  return (
    <ul class="lines" aria-label="The truth">
      {outcome.truth.map((one) => (
        <li key={`${one.cause} ${one.kind}`}>
          The truth: <strong>{one.kind}</strong> at <strong>{one.cause}</strong>, from {minute(one.start_seconds)},{" "}
          {one.visible_seconds === null ? "never visible" : `visible from ${minute(one.visible_seconds)}`}
        </li>
      ))}
    </ul>
  );
}

export function Result({ outcome }: { outcome: DrillOutcome }) {
  const { cost } = outcome;
  return (
    <section aria-label="Outcome">
      <h3>
        <span aria-hidden="true">{outcome.score.top1 ? "✓ " : "✗ "}</span>
        {verdict(outcome)}
      </h3>
      <Truth outcome={outcome} />
      <Table heads={["Cause", "Kind", "When", "Confidence", "From cause to symptom"]} caption="What Holdfast found">
        {outcome.findings.map((one) => (
          <tr key={`${one.cause} ${one.kind}`}>
            <th scope="row">{one.cause}</th>
            <td>{one.kind}</td>
            <td>{minute(one.at_seconds)}</td>
            <td class="number">{percent(one.confidence)}</td>
            <td class="faint">{one.path.slice(0, 2).join("; ")}</td>
          </tr>
        ))}
        {outcome.findings.length === 0 && (
          <tr>
            <td colSpan={5}>Nothing.</td>
          </tr>
        )}
      </Table>
      {cost.layers.length > 0 && (
        <Table heads={["Layer", "Cost", "How it is computed"]} caption={`What it cost: ${dollars(cost.total)}, ${amount(cost.lost_gpu_hours)} GPU-hours`}>
          {cost.layers.map((layer) => (
            <tr key={layer.name}>
              <th scope="row">{layer.name}</th>
              <td class="number">{dollars(layer.cost)}</td>
              <td class="faint">{withFigures(layer.inputs)}</td>
            </tr>
          ))}
        </Table>
      )}
    </section>
  );
}
