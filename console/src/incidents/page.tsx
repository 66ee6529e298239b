import type { Incident } from "../api";
import { ask, incidents as opened, now } from "../live/session";
import { useAnswer } from "../live/use_answer";
import { open, route } from "../shell/route";
import { amount, money, told } from "../shell/figures";
import { age, timeOfDay } from "../shell/time";
import { Table, View } from "../shell/view";
import { IncidentDetail } from "./detail";
import { sum } from "./cost";

const HEADS = ["State", "Where it starts", "What", "For", "GPU-hours an hour", "Cost", "In one sentence"];

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
      <td data-head="What">{incident.cause}</td>
      <td class="short" data-head="For">{age(incident.opened, incident.closed ?? now())}</td>
      <td class="number" data-head="GPU-hours an hour">{bill && !incident.closed ? amount(bill.gpu_hours_per_hour) : ""}</td>
      <td class="number" data-head="Cost">{bill ? money(sum(bill, "so_far"), bill.currency) : ""}</td>
      <td class="sentence">{told(incident.account?.sentence || incident.reason)}</td>
    </tr>
  );
}

function NoneOpen({ past }: { past: readonly Incident[] }) {
  const ended = Math.max(0, ...past.map((one) => one.closed ?? 0));
  return (
    <p class="empty">
      {ended > 0 ? `No incident is open, since ${timeOfDay(ended)}.` : "No incident, open or past."} One opens when nodes
      that share something fail together, or when a seam finds a cause.
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
