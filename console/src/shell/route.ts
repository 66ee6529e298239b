/**
 * The current view, stored in the address so that it can be shared:
 * #/node/n017?group=rack&find=stage:draining, #/inbox/KEY, #/incidents/ID?find=leaf&sort=-Cost, #/jobs/llama, #/probes, #/plan/risk?gpus=1024, #/drill/NAME
 */

import { signal } from "@preact/signals";

export const VIEWS = ["fleet", "inbox", "incidents", "jobs", "topology", "history", "probes", "audit", "plan", "drill", "runbook", "sign-in", "missing"] as const;
export type View = (typeof VIEWS)[number];

export interface Route {
  view: View;
  /** One item of the view: an incident, a job. '': the list. */
  item: string;
  node: string;
  group: string;
  find: string;
  /** The parameters of a plan or a drill, by name. */
  asked: Readonly<Record<string, string>>;
}

export const HOME: Route = { view: "fleet", item: "", node: "", group: "rack", find: "", asked: {} };

export function parse(hash: string): Route {
  if (!hash.startsWith("#/")) return HOME; // not an address of the page: a sign-in leaves its token there
  const [path = "", query = ""] = hash.slice(2).split("?", 2);
  const { group = HOME.group, find = "", ...asked } = Object.fromEntries(new URLSearchParams(query));
  const [first = "", ...rest] = path.split("/");
  const named = decode(rest.join("/"));
  if (first === "node" && named) return { ...HOME, node: named, group, find, asked };
  const view = first === "" ? "fleet" : VIEWS.find((known) => known === first && known !== "missing");
  if (!view || (view === "fleet" && named)) return { ...HOME, view: "missing", item: decode(path), asked };
  return { view, item: named, node: "", group, find, asked };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // a stray % typed by hand
  }
}

export function format({ view, item, node, group, find, asked }: Route): string {
  const kept = { ...(group !== HOME.group && { group }), ...(find && { find }), ...asked };
  const query = new URLSearchParams(kept).toString();
  return `#/${path(view, item, node)}${query && `?${query}`}`;
}

function path(view: View, item: string, node: string): string {
  if (view === "missing") return item.split("/").map(encodeURIComponent).join("/");
  if (view === "fleet") return node ? `node/${encodeURIComponent(node)}` : "";
  return item ? `${view}/${encodeURIComponent(item)}` : view;
}

export const route = signal<Route>(HOME);

export function followAddress(): void {
  const read = (): void => void (route.value = parse(location.hash));
  addEventListener("hashchange", read);
  read();
}

/** Opening something adds a step to the browser's history; typing in a field does not. */
export function go(change: Partial<Route>): void {
  const before = route.value;
  const next = { ...before, ...change };
  const opening = next.node !== before.node || next.view !== before.view || next.item !== before.item;
  route.value = next;
  if (opening) history.pushState(null, "", format(next));
  else history.replaceState(null, "", format(next));
}

/** Goes to another view without the search of the last one. */
export function open(view: View, item = "", asked: Readonly<Record<string, string>> = {}): void {
  go({ ...HOME, view, item, asked });
}

/** Changes the parameters of the view; the address contains only those that are not empty. */
export function setAsked(change: Record<string, string>): void {
  go({ asked: Object.fromEntries(Object.entries({ ...route.value.asked, ...change }).filter(([, value]) => value)) });
}
