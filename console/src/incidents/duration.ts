import { fleet, now } from "../live/session";
import { lasting } from "../shell/time";
import { secondsOf, type Lasting } from "./seconds";

export function durationOf(incident: Lasting): string {
  return lasting(secondsOf(incident, now(), fleet.value?.time_factor ?? 1));
}
