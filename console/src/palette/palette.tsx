import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { headline } from "../incidents/headline";
import { inbox, incidents, roster } from "../live/session";
import { go, HOME, open, type View } from "../shell/route";
import { switchTheme } from "../shell/theme";
import { matching, type Entry } from "./match";

const MOST_SHOWN = 12;
const VIEWS: readonly [View, string][] = [
  ["fleet", "Home"],
  ["inbox", "Inbox"],
  ["incidents", "Incidents"],
  ["jobs", "Jobs"],
  ["topology", "Topology"],
  ["history", "History"],
  ["probes", "Probes"],
  ["audit", "Audit"],
  ["plan", "Plan"],
  ["drill", "Drill"],
  ["sign-in", "Sign in"],
];

export const paletteOpen = signal(false);

function* entries(): Generator<Entry> {
  for (const [view, name] of VIEWS) yield { name, kind: "view", act: () => open(view) };
  for (const item of inbox.value?.items ?? []) yield { name: item.title, kind: "inbox", act: () => open("inbox", item.key) };
  for (const one of incidents.value) yield { name: headline(one, inbox.value), kind: "incident", act: () => open("incidents", one.id) };
  yield { name: "Switch the theme", kind: "command", act: switchTheme };
  for (const name of roster.nodes.keys()) yield { name, kind: "node", act: () => go({ ...HOME, node: name }) };
}

function Dialog() {
  const [typed, setTyped] = useState("");
  const [at, setAt] = useState(0);
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  const found = matching(entries(), typed, MOST_SHOWN);
  const close = (): void => void (paletteOpen.value = false);
  const choose = (entry: Entry | undefined): void => {
    close();
    entry?.act();
  };
  const press = (event: KeyboardEvent): void => {
    if (event.key === "ArrowDown") setAt(Math.min(found.length - 1, at + 1));
    else if (event.key === "ArrowUp") setAt(Math.max(0, at - 1));
    else if (event.key === "Enter") choose(found[at]);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <dialog ref={dialog} class="palette" aria-label="Go to" onClose={close} onKeyDown={press} onClick={(event) => event.target === dialog.current && close()}>
      <input
        type="search"
        placeholder="Go to a node, incident, item or view"
        role="combobox"
        list={undefined}
        aria-label="Go to"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={found.length > 0 ? `palette-${at}` : undefined}
        value={typed}
        onInput={(event) => {
          setTyped(event.currentTarget.value);
          setAt(0);
        }}
      />
      <ul id="palette-list" role="listbox" aria-label="Matches">
        {found.map((entry, number) => (
          <li key={`${entry.kind} ${entry.name}`} id={`palette-${number}`} role="option" aria-selected={number === at} onClick={() => choose(entry)}>
            {entry.name} <span class="faint">{entry.kind}</span>
          </li>
        ))}
      </ul>
      {found.length === 0 && <p class="faint">Nothing matches.</p>}
    </dialog>
  );
}

/** Ctrl-K or Cmd-K opens it, on every view. */
export function Palette() {
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      paletteOpen.value = !paletteOpen.value;
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
  return paletteOpen.value ? <Dialog /> : null;
}
