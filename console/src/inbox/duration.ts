import { fleet, incidents, now } from "../live/session";
import { lasting } from "../shell/time";
import { itemSeconds, type Lasted } from "./seconds";

export function lastedOf(item: Lasted): string {
  return lasting(itemSeconds(item, incidents.value, now(), fleet.value?.time_factor ?? 1));
}
