/** The history as shown: related entries are one entry. Newest first; the API has every step. */

import type { HistoryEntry } from "../api";

const ON_THE_WAY = ["proposed", "claimed"];
const MOST_NAMED = 6;

export function brief(entries: readonly HistoryEntry[]): HistoryEntry[] {
  const shown: HistoryEntry[] = [];
  let run: HistoryEntry[] = [];
  for (const entry of withoutSteps(entries)) {
    if (isFirstVerdict(entry)) {
      run.push(entry);
      continue;
    }
    shown.push(...counted(run), entry);
    run = [];
  }
  return [...shown, ...counted(run)];
}

/** Only the latest state of each action: earlier states (proposed, claimed) are left out. */
function withoutSteps(entries: readonly HistoryEntry[]): HistoryEntry[] {
  const known = new Set<unknown>();
  return entries.filter(({ kind, facts }) => {
    if (kind !== "action") return true;
    const later = known.has(facts["action"]);
    known.add(facts["action"]);
    return !later || !ON_THE_WAY.includes(String(facts["state"]));
  });
}

function isFirstVerdict({ kind, facts }: HistoryEntry): boolean {
  return kind === "verdict" && !facts["before"];
}

function counted(run: readonly HistoryEntry[]): HistoryEntry[] {
  const [newest] = run;
  if (!newest || run.length === 1) return [...run];
  const checks = new Map<string, string[]>();
  for (const { facts } of run) {
    const health = String(facts["after"]);
    checks.set(health, [...(checks.get(health) ?? []), String(facts["check"])]);
  }
  const counts = [...checks].map(([health, names]) => `${names.length} ${health.replace("_", " ")}`);
  const named = [...checks].filter(([health]) => health !== "pass" && health !== "not_applicable");
  const detail = named.map(([health, names]) => `${health}: ${listed(names)}`).join("; ");
  return [{ ...newest, title: `${run.length} first verdicts: ${counts.join(", ")}`, detail, facts: {} }];
}

function listed(names: readonly string[]): string {
  const more = names.length - MOST_NAMED;
  return names.toSorted().slice(0, MOST_NAMED).join(", ") + (more > 0 ? ` and ${more} more` : "");
}

export function titleOf({ title }: Pick<HistoryEntry, "title">): string {
  return title.replaceAll(" -> ", " → ");
}
