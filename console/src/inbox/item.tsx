import { useState } from "preact/hooks";
import type { ItemAction, ItemDetail, ItemView } from "../api";
import { ask, now, readInbox, whyFailed } from "../live/session";
import { useAnswer } from "../live/use_answer";
import { summary } from "../incidents/headline";
import { PostMortem } from "../incidents/post_mortem";
import { Runbook } from "../incidents/runbook";
import { RunbookSteps } from "../runbook/steps";
import { Commands } from "../shell/commands";
import { amount, money, withFigures } from "../shell/figures";
import { HOME, go, open } from "../shell/route";
import { day, timeOfDay } from "../shell/time";
import { View } from "../shell/view";
import { lastedOf } from "./duration";

const REFRESH_SECONDS = 5;
const MOST_MEMBERS = 100;
const MUTES: readonly [hours: number, name: string][] = [
  [1, "1 hour"],
  [8, "8 hours"],
  [24, "1 day"],
  [168, "1 week"],
];

/** "by ada, 17 Nov 2026 12:00:00: swapped the cable", or how the item ended automatically. */
function resolved(item: ItemView): string {
  if (item.resolved_at == null) return "";
  const how = [item.outcome, item.comment].filter(Boolean).join("; ");
  return `by ${item.resolved_by || "holdfast"}, ${day(item.resolved_at)} ${timeOfDay(item.resolved_at)}${how ? `: ${how}` : ""}`;
}

function Facts({ item }: { item: ItemView }) {
  const facts: [string, string][] = [
    ["Owner", `${item.owner ?? ""}${item.on_call ? `, on call: ${item.on_call}` : ""}`],
    ["Assigned to", item.assignee ?? ""],
    [item.ended_at == null ? "Age" : "Lasted", `${lastedOf(item)}, since ${day(item.since)} ${timeOfDay(item.since)}`],
    ["Resolved", resolved(item)],
    ["Lost now", item.gpus_lost ? `the work of ${amount(item.gpus_lost)} GPUs` : ""],
    [item.ended_at == null ? "Cost so far" : "Cost", item.cost_so_far == null ? "not known" : money(item.cost_so_far, item.currency)],
    ["Cost per further hour", item.cost_per_hour == null ? "" : money(item.cost_per_hour, item.currency)],
    ["Acknowledged", item.acknowledged_by ? `by ${item.acknowledged_by}` : ""],
    ["Muted until", item.muted_until && item.muted_until > now() ? `${day(item.muted_until)} ${timeOfDay(item.muted_until)}` : ""],
  ];
  return (
    <dl class="facts">
      {facts.map(
        ([name, value]) =>
          value && (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ),
      )}
    </dl>
  );
}

/** The operator's actions. A past item takes comments only. */
function Act({ item, done }: { item: ItemView; done: () => void }) {
  const { value: me } = useAnswer(() => ask().me(), "me");
  const [comment, setComment] = useState("");
  const [assignee, setAssignee] = useState(item.assignee ?? "");
  const [trouble, setTrouble] = useState("");
  const may = me?.may.includes("operate") ?? false;
  const act = (action: ItemAction, more: { assignee?: string; hours?: number } = {}): void => {
    // Removed before it is sent, so that a second action before the answer does not send it again.
    setComment("");
    ask()
      .actOnItem(item.key, action, { comment, ...more })
      .then(() => {
        setTrouble("");
        done();
        readInbox();
      })
      .catch((error: unknown) => {
        setComment((typed) => typed || comment);
        setTrouble(whyFailed(error));
      });
  };
  const resolved = item.state === "resolved";
  const over = item.ended_at != null;
  return (
    <section class="actions" aria-label="Actions">
      {!over && (
        <>
          <div class="row">
            <button type="button" class="primary" disabled={!may || item.state !== "open"} onClick={() => act("acknowledge")}>
              Acknowledge
            </button>
            <button type="button" disabled={!may} onClick={() => act(resolved ? "reopen" : "resolve")}>
              {resolved ? "Reopen" : "Resolve"}
            </button>
            <label>
              Mute for{" "}
              <select
                disabled={!may}
                value=""
                onChange={(event) => {
                  if (event.currentTarget.value) act("mute", { hours: Number(event.currentTarget.value) });
                }}
              >
                <option value="">choose</option>
                {MUTES.map(([hours, name]) => (
                  <option key={hours} value={hours}>
                    {name}
                  </option>
                ))}
              </select>
            </label>
            {item.state === "muted" && (
              <button type="button" disabled={!may} onClick={() => act("unmute")}>
                Unmute
              </button>
            )}
          </div>
          <form
            class="row"
            aria-label="Assign"
            onSubmit={(event) => {
              event.preventDefault();
              act("assign", { assignee });
            }}
          >
            <label>
              Assign to <input value={assignee} maxLength={255} disabled={!may} onInput={(event) => setAssignee(event.currentTarget.value)} />
            </label>
            <button type="submit" disabled={!may}>
              Assign
            </button>
            {me && may && (
              <button type="button" onClick={() => act("assign", { assignee: me.name })}>
                Take it
              </button>
            )}
          </form>
        </>
      )}
      <form
        class="row"
        aria-label="Comment"
        onSubmit={(event) => {
          event.preventDefault();
          act("comment");
        }}
      >
        <label class="wide">
          Comment <input value={comment} maxLength={4000} disabled={!may} onInput={(event) => setComment(event.currentTarget.value)} />
        </label>
        <button type="submit" disabled={!may || !comment.trim()}>
          Comment
        </button>
      </form>
      {me && !may && <p class="hint">Your role is {me.role}. Actions need an operator's rights: sign in at the top right.</p>}
      {trouble && (
        <p class="trouble" role="alert">
          {trouble}
        </p>
      )}
    </section>
  );
}

function target(item: ItemView): { label: string; show: () => void } | null {
  const [kind = "", name = ""] = item.subject.split("/", 2);
  if (item.key.startsWith("group/")) return { label: "Show these incidents", show: () => go({ ...HOME, view: "incidents", find: item.subject }) };
  if (item.key.startsWith("degraded/")) {
    const names = (item.members ?? []).map((one) => one.replace(/^node\//, ""));
    return { label: "Show these nodes", show: () => go({ ...HOME, find: `name:${names.join(",")}` }) };
  }
  if (item.kind === "node") return { label: `Show ${name}`, show: () => go({ ...HOME, node: name }) };
  if (item.kind === "incident") return { label: "Show the incident", show: () => open("incidents", item.key.replace(/^incident\//, "")) };
  return kind === "job" ? { label: "Show the job", show: () => open("jobs", name) } : null;
}

function Members({ item }: { item: ItemView }) {
  const members = item.members ?? [];
  if (members.length === 0) return null;
  return (
    <details>
      <summary>
        {members.length} {members.length === 1 ? "subject" : "subjects"}
      </summary>
      <p>
        {members.slice(0, MOST_MEMBERS).join(", ")}
        {members.length > MOST_MEMBERS && ` and ${members.length - MOST_MEMBERS} more`}
      </p>
    </details>
  );
}

function Notes({ notes }: { notes: ItemDetail["notes"] }) {
  return (
    <section aria-label="History">
      <h3>History</h3>
      {notes.length === 0 && <p class="faint">No operator has updated it.</p>}
      <ul class="cards">
        {notes.map((note) => (
          <li key={`${note.at} ${note.action}`}>
            <span class="faint">
              {day(note.at)} {timeOfDay(note.at)}
            </span>{" "}
            <strong>{note.who}</strong>: {note.action}
            {note.text && `: ${note.text}`}
          </li>
        ))}
      </ul>
    </section>
  );
}

function ItemRunbook({ item }: { item: ItemView }) {
  if (item.key.startsWith("incident/")) return <Runbook id={item.key.slice("incident/".length)} />;
  return <NamedRunbook item={item} />;
}

function NamedRunbook({ item }: { item: ItemView }) {
  const about = item.members?.find((one) => one.startsWith(`${item.subject}/`)) ?? item.subject;
  const [kind = "", node = "", ...part] = about.split("/");
  const named = kind === "node" ? node : item.kind === "job" ? (item.members?.[0] ?? "") : "";
  const { value } = useAnswer(() => ask().runbookNamed(item.runbook ?? "", named, part.join("/")), `${item.runbook} ${item.subject}`);
  return value ? <RunbookSteps book={value} /> : null;
}

export function ItemPage({ id }: { id: string }) {
  const { value, trouble, missing, again } = useAnswer(() => ask().item(id), id, REFRESH_SECONDS);
  const item = value?.item;
  const shown = item && target(item);
  return (
    <View title={item?.title ?? id.replace(/@\d+$/, "")} what="The item" trouble={trouble} missing={missing && !value} back={{ view: "inbox", label: "Inbox" }}>
      {item && value && (
        <>
          <p class="lead">{withFigures(summary(item.detail, item.title))}</p>
          <p>
            <span class={`state ${item.state}`}>{item.state}</span>{" "}
            {shown && (
              <button type="button" onClick={shown.show}>
                {shown.label}
              </button>
            )}{" "}
            {item.key.startsWith("incident/") && <PostMortem id={item.key.slice("incident/".length)} />}
          </p>
          <Facts item={item} />
          <Act item={item} done={again} />
          {item.ended_at == null && (
            <section aria-label="Next step">
              <h3>Next step</h3>
              <p class="next">{item.remedy}</p>
              <Commands commands={item.commands ?? []} />
            </section>
          )}
          {item.runbook && <ItemRunbook item={item} />}
          <Members item={item} />
          <Notes notes={value.notes} />
        </>
      )}
    </View>
  );
}
