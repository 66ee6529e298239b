import type { RunbookView } from "../api";
import { StepText } from "../shell/step_text";

function Steps({ name, steps }: { name: string; steps: readonly string[] }) {
  if (steps.length === 0) return null;
  return (
    <>
      <h4>{name}</h4>
      <ol class="numbered">
        {steps.map((step) => (
          <li key={step}>
            <StepText text={step} />
          </li>
        ))}
      </ol>
    </>
  );
}

/** The steps of a runbook: actions, confirmation, actions to avoid, and the end of the problem. */
export function RunbookSteps({ book, whole = false }: { book: RunbookView; whole?: boolean }) {
  return (
    <section aria-label="Runbook" class="runbook">
      <h3>
        Runbook: {book.title} {(book.teams ?? []).length > 0 && <span class="faint">({book.teams?.join(", ")})</span>}
      </h3>
      {whole && book.shows && <p>{book.shows}</p>}
      <Steps name="Act" steps={book.act ?? []} />
      {book.leave && (
        <p>
          <strong>Do not</strong> {book.leave}
        </p>
      )}
      {book.over && (
        <p>
          <strong>It is over when</strong> <StepText text={book.over} />
        </p>
      )}
      <details open={whole}>
        <summary>How to confirm</summary>
        <Steps name="Confirm" steps={book.confirm ?? []} />
        {book.alike && <p class="faint">Similar: {book.alike}</p>}
      </details>
    </section>
  );
}
