import type { RunbookView } from "../api";
import { ask } from "../live/session";
import { useAnswer } from "../live/use_answer";

const REFRESH_SECONDS = 6; // the list of victims grows

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

/** The runbook with this incident's names filled in. */
export function Runbook({ id }: { id: string }) {
  const { value } = useAnswer<RunbookView>(() => ask().runbook(id), `runbook ${id}`, REFRESH_SECONDS);
  if (value === null || value.act.length === 0) return null;
  return (
    <section aria-label="Runbook" class="runbook">
      <h3>Runbook</h3>
      <Steps name="Act" steps={value.act} />
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
        <summary>How to confirm</summary>
        <Steps name="Confirm" steps={value.confirm} />
        {value.alike && <p class="faint">Similar: {value.alike}</p>}
      </details>
    </section>
  );
}
