import type { RunbookView } from "../api";
import { ask } from "../live/session";
import { useAnswer } from "../live/use_answer";

const LOOK_EVERY_SECONDS = 6; // whom it reaches grows with it

function Steps({ name, steps }: { name: string; steps: readonly string[] }) {
  if (steps.length === 0) return null;
  return (
    <>
      <h4>{name}</h4>
      <ol class="numbered">
        {steps.map((step) => (
          <li key={step}>{step}</li>
        ))}
      </ol>
    </>
  );
}

/** What to look at, what to do and what to leave, with this incident's names filled in. */
export function Runbook({ id }: { id: string }) {
  const { value } = useAnswer<RunbookView>(() => ask().runbook(id), `runbook ${id}`, LOOK_EVERY_SECONDS);
  if (value === null || value.act.length === 0) return null;
  return (
    <section aria-label="Runbook" class="runbook">
      <h3>Runbook</h3>
      <Steps name="Do" steps={value.act} />
      {value.leave && (
        <p>
          <strong>Do not</strong> {value.leave}
        </p>
      )}
      {value.over && (
        <p>
          <strong>It is over when</strong> {value.over}
        </p>
      )}
      <details>
        <summary>How to make sure</summary>
        <Steps name="Look at" steps={value.confirm} />
        {value.alike && <p class="faint">What looks the same: {value.alike}</p>}
      </details>
    </section>
  );
}
