import { useEffect } from "preact/hooks";
import type { Incident } from "../api";
import { ask, fleet, inbox, incidents as opened, now } from "../live/session";
import { useAnswer } from "../live/use_answer";
import { open, route } from "../shell/route";
import { amount, money, withFigures } from "../shell/figures";
import { List } from "../shell/list";
import type { Column } from "../shell/order";
import { when } from "../live/session";
import { View } from "../shell/view";
import { IncidentDetail } from "./detail";
import { durationOf } from "./duration";
import { priceOf, type Price } from "./price";
import { secondsOf } from "./seconds";

function priced(one: Incident): Price {
  return priceOf(one, inbox.value);
}

function beganAt(one: Incident): number {
  return one.account?.since ?? one.opened;
}

const COLUMNS: readonly Column<Incident>[] = [
  { head: "State", by: (one) => one.state },
  { head: "Root cause", by: (one) => one.subject },
  { head: "Kind", by: (one) => one.cause },
  { head: "Began", by: beganAt, largestFirst: true },
  { head: "Duration", by: (one) => secondsOf(one, now(), fleet.value?.time_factor ?? 1), largestFirst: true },
  { head: "GPUs lost now", by: (one) => (one.closed ? null : priced(one).lost), number: true, largestFirst: true },
  { head: "Cost", by: (one) => priced(one).cost, number: true, largestFirst: true },
  { head: "Summary" },
];

function Row({ incident }: { incident: Incident }) {
  const { lost, cost, currency, labour } = priced(incident);
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
      <td class="short" data-head="Began">{when(beganAt(incident))}</td>
      <td class="short" data-head="Duration">{durationOf(incident)}</td>
      <td class="number" data-head="GPUs lost now">{incident.closed ? "" : lost === null ? unknown : amount(lost)}</td>
      <td class="number" data-head="Cost">{cost === null ? unknown : `${money(cost, currency)}${labour ? " labour" : ""}`}</td>
      <td class="sentence">{withFigures(incident.account?.sentence || incident.reason)}</td>
    </tr>
  );
}

function NoneOpen({ past }: { past: readonly Incident[] }) {
  const ended = Math.max(0, ...past.map((one) => one.closed ?? 0));
  return (
    <p class="empty">
      {ended > 0 ? `No incident has been open since ${when(ended)}.` : "There is no open or past incident."} An incident opens when nodes
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
