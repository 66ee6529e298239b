import type { RunbookView } from "../api";
import { ask } from "../live/session";
import { useAnswer } from "../live/use_answer";
import { RunbookSteps } from "../runbook/steps";

const REFRESH_SECONDS = 6; // the list of victims grows

/** The runbook with this incident's names filled in. */
export function Runbook({ id }: { id: string }) {
  const { value } = useAnswer<RunbookView>(() => ask().runbook(id), `runbook ${id}`, REFRESH_SECONDS);
  return value === null || (value.act ?? []).length === 0 ? null : <RunbookSteps book={value} />;
}
