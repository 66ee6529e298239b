/** What is looked at, kept in the address so that it can be shared: #/node/n017?group=rack&find=stage:draining */

import { signal } from "@preact/signals";

export interface Route {
  node: string;
  group: string;
  find: string;
}

export function parse(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const asked = new URLSearchParams(query);
  const [room, name = ""] = path.split("/", 2);
  return { node: room === "node" ? decode(name) : "", group: asked.get("group") ?? "rack", find: asked.get("find") ?? "" };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // a stray % typed by hand
  }
}

export function format({ node, group, find }: Route): string {
  const query = new URLSearchParams({ ...(group !== "rack" && { group }), ...(find && { find }) }).toString();
  return `#/${node ? `node/${encodeURIComponent(node)}` : ""}${query && `?${query}`}`;
}

export const route = signal<Route>({ node: "", group: "rack", find: "" });

export function followAddress(): void {
  const read = (): void => void (route.value = parse(location.hash));
  addEventListener("hashchange", read);
  read();
}

/** Opening a node is a step one can go back from; typing in the filter is not. */
export function go(change: Partial<Route>): void {
  const next = { ...route.value, ...change };
  const opening = next.node !== route.value.node;
  route.value = next;
  if (opening) history.pushState(null, "", format(next));
  else history.replaceState(null, "", format(next));
}
