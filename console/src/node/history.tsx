import { useEffect, useState } from "preact/hooks";
import type { HistoryEntry } from "../api";
import { ask, connection, whyFailed } from "../live/session";
import { day, timeOfDay } from "../shell/time";
import { brief, titleOf } from "./history_brief";
import { append, identity, linesOf, renew, type HistoryPages } from "./history_text";
import { useOnUpdate } from "./use_node";

const KINDS: Record<string, { sign: string; name: string }> = {
  transition: { sign: "→", name: "Transition" },
  verdict: { sign: "◆", name: "Verdict" },
  action: { sign: "▶", name: "Action" },
  event: { sign: "!", name: "Event" },
};

function Entry({ entry, opensDay }: { entry: HistoryEntry; opensDay: boolean }) {
  const kind = KINDS[entry.kind] ?? { sign: "·", name: entry.kind };
  return (
    <>
      {opensDay && <li class="day">{day(entry.at)}</li>}
      <li class={`entry ${entry.kind}`}>
        <time dateTime={new Date(entry.at * 1000).toISOString()}>{timeOfDay(entry.at)}</time>
        <span class="kind" role="img" aria-label={kind.name} title={kind.name}>
          {kind.sign}
        </span>
        <div>
          <strong>{titleOf(entry)}</strong>
          {linesOf(entry).map((line) => (
            <p key={line}>{line}</p>
          ))}
        </div>
      </li>
    </>
  );
}

export function History({ name }: { name: string }) {
  const [{ entries, next }, setHistory] = useState<HistoryPages>({ entries: [], next: null });
  const [trouble, setTrouble] = useState("");
  const failed = (error: unknown): void => setTrouble(`The history could not be read: ${whyFailed(error)}`);

  const loadNewest = (): void => {
    ask()
      .nodeHistory(name)
      .then((page) => {
        setHistory((known) => renew(known, page));
        setTrouble("");
      })
      .catch(failed);
  };
  const loadOlder = (): void => {
    ask()
      .nodeHistory(name, next ?? "")
      .then((page) => setHistory((known) => ({ entries: append(known.entries, page.entries), next: page.next })))
      .catch(failed);
  };
  const live = connection.value.kind === "live";
  useEffect(loadNewest, [name, live]);
  useOnUpdate(name, loadNewest);

  const shown = brief(entries);
  return (
    <section class="node-history" aria-label="History">
      <h3>History</h3>
      {trouble && (
        <p class="trouble" role="alert">
          {trouble}
        </p>
      )}
      <ol>
        {shown.map((entry, i) => {
          const newer = shown[i - 1];
          const opensDay = newer === undefined || day(newer.at) !== day(entry.at);
          return <Entry key={identity(entry)} entry={entry} opensDay={opensDay} />;
        })}
      </ol>
      {next === "" && entries.length === 0 && <p class="faint">Nothing has happened to this node yet.</p>}
      {next && (
        <button type="button" onClick={loadOlder}>
          Older
        </button>
      )}
    </section>
  );
}
