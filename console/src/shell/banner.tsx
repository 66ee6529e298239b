import { useEffect, useState } from "preact/hooks";
import { connection, retryNow, roster } from "../live/session";
import { timeOfDay } from "./time";

/** Says since when the shown state is out of date. */
export function Banner() {
  const state = connection.value;
  const [, tick] = useState(0);
  useEffect(() => {
    if (state.kind !== "lost") return;
    const timer = setInterval(() => tick((n) => n + 1), 1000);
    return () => clearInterval(timer);
  }, [state.kind]);
  if (state.kind !== "lost") return null;
  const seconds = Math.max(0, Math.ceil((state.retryAt - Date.now()) / 1000));
  return (
    <div class="banner" role="alert">
      <strong>Connection lost since {timeOfDay(state.since)}</strong>
      <span>
        {state.reason}. {roster.nodes.size > 0 && "This is the last known state. "}
      </span>
      <span class="spacer" />
      <span aria-hidden="true">{seconds > 0 ? `retrying in ${seconds} s` : "retrying"}</span>
      <button type="button" onClick={retryNow}>
        Retry now
      </button>
    </div>
  );
}
