/** The audit log: requests with their caller and outcome. */

import type { AuditEntry } from "../api";
import { ask, now, session } from "../live/session";
import { useAnswer } from "../live/use_answer";
import { CopyCommand } from "../shell/commands";
import { List } from "../shell/list";
import type { Column } from "../shell/order";
import { open } from "../shell/route";
import { day, timeOfDay } from "../shell/time";
import { View } from "../shell/view";

const DAYS = 30;
const REFRESH_SECONDS = 15;
const COLUMNS: readonly Column<AuditEntry>[] = [
  { head: "When", by: (one) => one.at, largestFirst: true },
  { head: "Who", by: (one) => one.who },
  { head: "Role", by: (one) => one.role },
  { head: "Action", by: (one) => one.verb },
  { head: "Target", by: (one) => one.target },
  { head: "Outcome", by: (one) => one.outcome },
  { head: "Reason" },
];

function Row({ entry }: { entry: AuditEntry }) {
  return (
    <tr>
      <td class="short" data-head="When">
        {day(entry.at)} {timeOfDay(entry.at)}
      </td>
      <th scope="row">{entry.who}</th>
      <td data-head="Role">{entry.role}</td>
      <td data-head="Action">{entry.verb}</td>
      <td data-head="Target">{entry.target}</td>
      <td data-head="Outcome">{entry.outcome}</td>
      <td class="sentence">{entry.reason}</td>
    </tr>
  );
}

function Entries() {
  const { value, trouble } = useAnswer(() => ask().audit(now() - DAYS * 86_400), "audit", REFRESH_SECONDS);
  const entries = value ?? [];
  const roles = [...new Set(entries.map((one) => one.role))].toSorted();
  const verbs = [...new Set(entries.map((one) => one.verb))].toSorted();
  return (
    <View title="Audit" what="The audit log" trouble={trouble}>
      <p class="faint">
        Requests of people and programs in the last {DAYS} days, including refused ones; the newest 1,000. <CopyCommand text="holdfast audit" />
      </p>
      {!value && !trouble && <p class="empty">Loading …</p>}
      {value && entries.length === 0 && <p class="empty">No request yet.</p>}
      {entries.length > 0 && (
        <List
          rows={entries}
          columns={COLUMNS}
          keyOf={(one) => `${one.at} ${one.who} ${one.verb} ${one.target}`}
          text={(one) => [one.who, one.role, one.verb, one.target, one.outcome, one.reason].join(" ")}
          choices={[
            { name: "role", label: "Role", options: roles },
            { name: "verb", label: "Action", options: verbs },
          ]}
          fits={(one, chosen) => (!chosen["role"] || one.role === chosen["role"]) && (!chosen["verb"] || one.verb === chosen["verb"])}
          what="entries"
          hint="n017, quarantine, ada"
          render={(one) => <Row key={`${one.at} ${one.who} ${one.verb} ${one.target}`} entry={one} />}
        />
      )}
    </View>
  );
}

/** Only administrators may read it: the page says so, instead of sending a request that is refused. */
export function AuditPage() {
  if (!session.value) return <View title="Audit"><p class="empty">Loading …</p></View>;
  if (session.value.role !== "admin") {
    return (
      <View title="Audit">
        <p class="empty">
          The audit log is for administrators. {session.value.signed_in ? `You are signed in as ${session.value.role}.` : ""}{" "}
          <button type="button" onClick={() => open("sign-in")}>
            Sign in
          </button>
        </p>
      </View>
    );
  }
  return <Entries />;
}
