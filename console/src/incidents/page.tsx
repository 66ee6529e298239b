import type { Incident } from "../api";
import { ask, incidents as opened, now } from "../live/session";
import { useAnswer } from "../live/use_answer";
import { open, route } from "../shell/route";
import { amount, money, withFigures } from "../shell/figures";
import { age, timeOfDay } from "../shell/time";
import { Table, View } from "../shell/view";
import { IncidentDetail } from "./detail";
import { sum } from "./cost";

const HEADS = ["State", "Root cause", "Kind", "Duration", "GPU-hours per hour", "Cost", "Summary"];

function Row({ incident }: { incident: Incident }) {
  const bill = incident.account?.bill;
  return (
    <tr>
      <td data-head="State">
        <span class={`state ${incident.state}`}>{incident.state}</span>
      </td>
      <th scope="row">
        <button type="button" class="link" onClick={() => open("incidents", incident.id)}>
          {incident.subject}
        </button>
      </th>
      <td data-head="Kind">{incident.cause}</td>
      <td class="short" data-head="Duration">{age(incident.opened, incident.closed ?? now())}</td>
      <td class="number" data-head="GPU-hours per hour">{bill && !incident.closed ? amount(bill.gpu_hours_per_hour) : ""}</td>
      <td class="number" data-head="Cost">{bill ? money(sum(bill, "so_far"), bill.currency) : ""}</td>
      <td class="sentence">{withFigures(incident.account?.sentence || incident.reason)}</td>
    </tr>
  );
}

function NoneOpen({ past }: { past: readonly Incident[] }) {
  const ended = Math.max(0, ...past.map((one) => one.closed ?? 0));
  return (
    <p class="empty">
      {ended > 0 ? `No incident is open since ${timeOfDay(ended)}.` : "There is no open or past incident."} An incident opens when nodes
      with something in common fail together, or when a cause in another domain is found.
    </p>
  );
}

function List() {
  const { value, trouble } = useAnswer(() => ask().incidents(), opened.value.map((one) => one.id).join(" "), 30);
  const past = (value ?? []).filter((one) => one.state === "closed");
  const all = [...opened.value, ...past];
  return (
    <View title="Incidents" what="Past incidents" trouble={trouble}>
      {opened.value.length === 0 && value !== null && <NoneOpen past={past} />}
      {all.length > 0 && (
        <Table heads={HEADS} cards>
          {all.map((incident) => (
            <Row key={incident.id} incident={incident} />
          ))}
        </Table>
      )}
    </View>
  );
}

export function IncidentsPage() {
  const { item } = route.value;
  return item ? <IncidentDetail key={item} id={item} /> : <List />;
}
