import type { NextStep } from "../api";
import { Commands } from "../shell/commands";
import { open } from "../shell/route";

const WAITS: Record<string, string> = {
  operator: "Waits for an operator",
  holdfast: "Holdfast acts automatically",
  incident: "Part of an incident",
};

/** The next automatic step, or the operator's task. */
export function NextStepOf({ step, node }: { step: NextStep; node: string }) {
  const remedy = step.remedy ?? "";
  const known = step.text.toLowerCase().includes(remedy.toLowerCase().slice(0, 40));
  return (
    <section class={`next-step ${step.waits_for ?? ""}`} aria-label="Next step">
      <h3>Next step {step.waits_for && <span class="faint">{WAITS[step.waits_for]}</span>}</h3>
      <p>{step.text}</p>
      {remedy && !known && (
        <p>
          <strong>{step.check}:</strong> {remedy}
        </p>
      )}
      <p class="faint">
        Owner: {step.owner}
        {step.runbook && (
          <>
            {"; runbook: "}
            <button type="button" class="link" onClick={() => open("runbook", step.runbook ?? "", { on: node })}>
              {step.runbook}
            </button>
          </>
        )}
      </p>
      <Commands commands={step.commands ?? []} />
    </section>
  );
}
