import { useEffect } from "preact/hooks";
import type { Incident } from "../api";
import { ask, inbox, incidents as opened, now } from "../live/session";
import { useAnswer } from "../live/use_answer";
import { open, route } from "../shell/route";
import { amount, money, withFigures } from "../shell/figures";
import { List } from "../shell/list";
import type { Column } from "../shell/order";
import { timeOfDay } from "../shell/time";
import { View } from "../shell/view";
import { IncidentDetail } from "./detail";
import { durationOf } from "./duration";
import { secondsOf } from "./seconds";

/** What is lost now and the cost so far; of an incident without an account, as the inbox has it. null: not known. */
function priceOf(one: Incident): { lost: number | null; cost: number | null; currency: string } {
  const bill = one.account?.bill;
  if (bill) return { lost: lostNow(one), cost: bill.total_so_far ?? 0, currency: bill.currency };
  if (one.closed && one.figures) return { lost: null, cost: one.figures.cost ?? null, currency: one.figures.currency };
  const item = inbox.value?.items.find(({ key }) => key === `incident/${one.id}`);
  return { lost: item?.gpus_lost ?? null, cost: item?.cost_so_far ?? null, currency: item?.currency ?? "USD" };
}

/** GPUs whose work is lost; null: a job is slower, and by how much of its work is not measured. */
function lostNow({ account }: Incident): number | null {
  const lost = account?.bill?.gpu_hours_per_hour ?? 0;
  const measured = account?.losses.length === 0 || account?.losses.some((loss) => loss.gpus !== null);
  return lost > 0 || measured ? lost : null;
}

function beganAt(one: Incident): number {
  return one.account?.since ?? one.opened;
}

const COLUMNS: readonly Column<Incident>[] = [
  { head: "State", by: (one) => one.state },
  { head: "Root cause", by: (one) => one.subject },
  { head: "Kind", by: (one) => one.cause },
  { head: "Began", by: beganAt, largestFirst: true },
  { head: "Duration", by: (one) => secondsOf(one, now(), 1), largestFirst: true },
  { head: "GPUs lost now", by: (one) => (one.closed ? null : priceOf(one).lost), largestFirst: true },
  { head: "Cost", by: (one) => priceOf(one).cost, largestFirst: true },
  { head: "Summary" },
];

function Row({ incident }: { incident: Incident }) {
  const { lost, cost, currency } = priceOf(incident);
  const unknown = <span class="faint">not known</span>;
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
      <td class="short" data-head="Began">{timeOfDay(beganAt(incident))}</td>
      <td class="short" data-head="Duration">{durationOf(incident)}</td>
      <td class="number" data-head="GPUs lost now">{incident.closed ? "" : lost === null ? unknown : amount(lost)}</td>
      <td class="number" data-head="Cost">{cost === null ? unknown : money(cost, currency)}</td>
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

function Everything() {
  const { value, trouble, again } = useAnswer(() => ask().incidents(), "incidents", 30);
  useEffect(again, [opened.value.map((one) => one.id).join(" ")]); // what is shown stays until the answer comes
  const past = (value ?? []).filter((one) => one.state === "closed");
  const all = [...opened.value, ...past.toSorted((one, other) => beganAt(other) - beganAt(one))];
  return (
    <View title="Incidents" what="Past incidents" trouble={trouble}>
      {all.length === 0 && value === null && !trouble && <p class="empty">Loading …</p>}
      {opened.value.length === 0 && value !== null && <NoneOpen past={past} />}
      {all.length > 0 && (
        <List
          rows={all}
          columns={COLUMNS}
          keyOf={(one) => one.id}
          text={(one) => [one.subject, one.cause, one.reason, one.account?.sentence, ...one.evidence].join(" ")}
          choices={[
            { name: "state", label: "State", options: ["open", "closed"] },
            { name: "kind", label: "Kind", options: [...new Set(all.map((one) => one.cause))].toSorted() },
          ]}
          fits={(one, chosen) => (!chosen["state"] || one.state === chosen["state"]) && (!chosen["kind"] || one.cause === chosen["kind"])}
          what="incidents"
          hint="leaf3, cooling, n017"
          render={(one) => <Row key={one.id} incident={one} />}
        />
      )}
    </View>
  );
}

export function IncidentsPage() {
  const { item } = route.value;
  return item ? <IncidentDetail key={item} id={item} /> : <Everything />;
}
