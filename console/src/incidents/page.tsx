import type { Incident } from "../api";
import { ask, incidents as opened, now } from "../live/session";
import { useAnswer } from "../live/use_answer";
import { open, route } from "../shell/route";
import { age } from "../shell/time";
import { IncidentDetail } from "./detail";
import { money, sum } from "./cost";

function Row({ incident }: { incident: Incident }) {
  const bill = incident.account?.bill;
  return (
    <tr>
      <td>
        <span class={`state ${incident.state}`}>{incident.state}</span>
      </td>
      <th scope="row">
        <button type="button" class="link" onClick={() => open("incidents", incident.id)}>
          {incident.subject}
        </button>
      </th>
      <td>{incident.cause}</td>
      <td>{age(incident.opened, incident.closed ?? now())}</td>
      <td class="number">{bill ? bill.gpu_hours_per_hour.toPrecision(3) : ""}</td>
      <td class="number">{bill ? money(sum(bill, "so_far"), bill.currency) : ""}</td>
      <td>{incident.account?.sentence || incident.reason}</td>
    </tr>
  );
}

function List() {
  const { value, trouble } = useAnswer(() => ask().incidents(), opened.value.map((one) => one.id).join(" "), 30);
  const open_ = opened.value;
  const past = (value ?? []).filter((one) => one.state === "closed");
  return (
    <main class="view">
      <h2>Incidents</h2>
      {trouble && (
        <p class="trouble" role="alert">
          Past incidents could not be read: {trouble}
        </p>
      )}
      {open_.length === 0 && past.length === 0 ? (
        <p class="empty">No incident, open or past. One opens when nodes that share something fail together, or when a seam finds a cause.</p>
      ) : (
        <div class="scroll">
          <table>
            <thead>
              <tr>
                <th scope="col">State</th>
                <th scope="col">Where it starts</th>
                <th scope="col">What</th>
                <th scope="col">For</th>
                <th scope="col">GPU-hours an hour</th>
                <th scope="col">Cost so far</th>
                <th scope="col">In one sentence</th>
              </tr>
            </thead>
            <tbody>
              {[...open_, ...past].map((incident) => (
                <Row key={incident.id} incident={incident} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </main>
  );
}

export function IncidentsPage() {
  const { item } = route.value;
  return item ? <IncidentDetail key={item} id={item} /> : <List />;
}
