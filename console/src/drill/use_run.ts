import { useEffect, useState } from "preact/hooks";
import type { DrillRunView } from "../api";
import { readEvents } from "../live/events";
import { ask, whyFailed } from "../live/session";
import type { DrillOutcome } from "./outcome";

export interface Watched {
  run: DrillRunView | null;
  outcome: DrillOutcome | null;
  trouble: string;
}

/** Follows the current run from its beginning; `id` identifies a run. */
export function useRun(id: number | null): Watched {
  const [watched, set] = useState<Watched>({ run: null, outcome: null, trouble: "" });
  useEffect(() => {
    if (id === null) return;
    const leaving = new AbortController();
    set({ run: null, outcome: null, trouble: "" });
    const take = (kind: string, data: unknown): void =>
      set((before) => (kind === "outcome" ? { ...before, outcome: data as DrillOutcome } : { ...before, run: data as DrillRunView }));
    readEvents(ask(), "v1/drills/stream", take, leaving.signal).catch((error: unknown) => {
      if (!leaving.signal.aborted) set((before) => ({ ...before, trouble: whyFailed(error) }));
    });
    return () => leaving.abort();
  }, [id]);
  return watched;
}
