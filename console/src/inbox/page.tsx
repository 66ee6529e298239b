import { useEffect } from "preact/hooks";
import type { ItemView } from "../api";
import { ask, fleet, inbox, inboxTrouble, incidents, now } from "../live/session";
import { useAnswer } from "../live/use_answer";
import { amount, money } from "../shell/figures";
import { List, type Choice } from "../shell/list";
import type { Column } from "../shell/order";
import { open, route } from "../shell/route";
import { Unbroken } from "../shell/step_text";
import { day, timeOfDay } from "../shell/time";
import { Table, View } from "../shell/view";
import { lastedOf } from "./duration";
import { needsText } from "./empty";
import { ItemPage } from "./item";
import { itemSeconds } from "./seconds";

const COLUMNS: readonly Column<ItemView>[] = [
  { head: "State", by: (item) => item.state },
  { head: "What", by: (item) => item.title },
  { head: "Next step" },
  { head: "Owner", by: (item) => item.assignee || item.owner },
  { head: "Age", by: (item) => itemSeconds(item, incidents.value, now(), fleet.value?.time_factor ?? 1), largestFirst: true },
  { head: "GPUs lost", by: (item) => item.gpus_lost, number: true, largestFirst: true },
  { head: "Cost per hour", by: (item) => item.cost_per_hour, number: true, largestFirst: true },
];

function Title({ item }: { item: ItemView }) {
  return (
    <th scope="row" class="what">
      <button type="button" class="link" onClick={() => open("inbox", item.key)}>
        {item.title}
      </button>
    </th>
  );
}

function Row({ item }: { item: ItemView }) {
  return (
    <tr class={item.severity}>
      <td data-head="State">
        <span class={`state ${item.state}`}>{item.state}</span>
      </td>
      <Title item={item} />
      <td class="sentence"><Unbroken text={item.remedy ?? ""} /></td>
      <td data-head="Owner">{item.assignee || item.owner}</td>
      <td class="short" data-head="Age">
        {lastedOf(item)}
      </td>
      <td class="number" data-head="GPUs lost">
        {item.gpus_lost == null ? <span class="faint">not known</span> : amount(item.gpus_lost)}
      </td>
      <td class="number" data-head="Cost per hour">
        {item.cost_per_hour == null ? <span class="faint">not known</span> : money(item.cost_per_hour, item.currency)}
      </td>
    </tr>
  );
}

const REFRESH_SECONDS = 10;
const MOST_PAST = 200;
const HIDDEN: ReadonlySet<string> = new Set(["muted", "resolved"]);

function fits(item: ItemView, chosen: Readonly<Record<string, string>>): boolean {
  const state = chosen["state"] ?? "";
  if (state ? item.state !== state : HIDDEN.has(item.state)) return false;
  return ["owner", "kind"].every((name) => !chosen[name] || item[name as "owner" | "kind"] === chosen[name]);
}

const PAST_HOURS = 7 * 24;

function PastRow({ item }: { item: ItemView }) {
  const at = item.resolved_at ?? item.ended_at ?? item.since;
  return (
    <tr>
      <td class="short" data-head="Resolved">
        {day(at)} {timeOfDay(at)}
      </td>
      <Title item={item} />
      <td class="short" data-head="Lasted">
        {lastedOf(item)}
      </td>
      <td data-head="By">{item.resolved_by}</td>
      <td class="sentence">{[item.outcome, item.comment].filter(Boolean).join("; ")}</td>
    </tr>
  );
}

/** Past items: who resolved each or how it ended. */
function Past() {
  const { value, trouble, again } = useAnswer(() => ask().inbox(PAST_HOURS), "past", REFRESH_SECONDS);
  useEffect(again, [(inbox.value?.items ?? []).map((item) => item.key).toSorted().join(" ")]); // one that left the list above is here
  const past = value?.past ?? [];
  return (
    <section aria-label="Resolved">
      <h3>Resolved in the last 7 days{past.length > 0 && `: ${past.length.toLocaleString("en")}`}</h3>
      {trouble && <p class="trouble">The past items could not be read: {trouble}</p>}
      {value && past.length === 0 && <p class="faint">None.</p>}
      {past.length > 0 && (
        <Table heads={["Resolved", "What", "Lasted", "By", "Outcome and comment"]} cards>
          {past.slice(0, MOST_PAST).map((item) => (
            <PastRow key={item.key} item={item} />
          ))}
        </Table>
      )}
      {past.length > MOST_PAST && (
        <p class="faint">
          and {(past.length - MOST_PAST).toLocaleString("en")} more: <code>holdfast inbox list --all</code>
        </p>
      )}
    </section>
  );
}

function Everything() {
  const items = inbox.value?.items ?? [];
  const owners = [...new Set(items.map((item) => item.owner ?? ""))].filter(Boolean).toSorted();
  const choices: Choice[] = [
    { name: "state", label: "State", options: ["open", "acknowledged", "muted", "resolved"] },
    { name: "owner", label: "Owner", options: owners },
    { name: "kind", label: "Kind", options: ["node", "incident", "job"] },
  ];
  const hidden = items.filter((item) => HIDDEN.has(item.state)).length;
  return (
    <View title="Inbox">
      <p class="faint">
        Items that need an operator, worst first: nodes that wait for a repair or stay degraded, open incidents, jobs that died.
        {hidden > 0 && ` ${hidden} muted or resolved: choose the state to see them.`}
      </p>
      {items.length === 0 ? (
        <p class="empty">{needsText(inbox.value !== null, inboxTrouble.value)}</p>
      ) : (
        <List
          rows={items}
          columns={COLUMNS}
          keyOf={(item) => item.key}
          text={(item) => [item.title, item.detail, item.subject, item.owner, item.assignee, item.runbook, ...(item.members ?? [])].join(" ")}
          choices={choices}
          fits={fits}
          what="items"
          hint="n017, gpu.xid, network"
          render={(item) => <Row key={item.key} item={item} />}
        />
      )}
      <Past />
    </View>
  );
}

export function InboxPage() {
  const { item } = route.value;
  return item ? <ItemPage key={item} id={item} /> : <Everything />;
}
