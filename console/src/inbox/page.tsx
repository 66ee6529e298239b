import type { ItemView } from "../api";
import { inbox, inboxTrouble, lived } from "../live/session";
import { amount, money } from "../shell/figures";
import { List, type Choice } from "../shell/list";
import type { Column } from "../shell/order";
import { open, route } from "../shell/route";
import { Unbroken } from "../shell/step_text";
import { View } from "../shell/view";
import { needsText } from "./empty";
import { ItemPage } from "./item";

const COLUMNS: readonly Column<ItemView>[] = [
  { head: "State", by: (item) => item.state },
  { head: "What", by: (item) => item.title },
  { head: "Next step" },
  { head: "Owner", by: (item) => item.assignee || item.owner },
  { head: "Age", by: (item) => item.since },
  { head: "GPUs lost", by: (item) => item.gpus_lost, largestFirst: true },
  { head: "Cost per hour", by: (item) => item.cost_per_hour, largestFirst: true },
];

function Row({ item }: { item: ItemView }) {
  return (
    <tr class={item.severity}>
      <td data-head="State">
        <span class={`state ${item.state}`}>{item.state}</span>
      </td>
      <th scope="row" class="what">
        <button type="button" class="link" onClick={() => open("inbox", item.key)}>
          {item.title}
        </button>
      </th>
      <td class="sentence"><Unbroken text={item.remedy ?? ""} /></td>
      <td data-head="Owner">{item.assignee || item.owner}</td>
      <td class="short" data-head="Age">
        {lived(item.since)}
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

const HIDDEN: ReadonlySet<string> = new Set(["muted", "resolved"]);

function fits(item: ItemView, chosen: Readonly<Record<string, string>>): boolean {
  const state = chosen["state"] ?? "";
  if (state ? item.state !== state : HIDDEN.has(item.state)) return false;
  return ["owner", "kind"].every((name) => !chosen[name] || item[name as "owner" | "kind"] === chosen[name]);
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
        Items that need an operator, worst first: nodes whose repair steps all failed, open incidents, failed jobs.
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
    </View>
  );
}

export function InboxPage() {
  const { item } = route.value;
  return item ? <ItemPage key={item} id={item} /> : <Everything />;
}
