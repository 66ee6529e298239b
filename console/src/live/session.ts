/** The page's only connection and the data received through it, as signals for the components. */

import { computed, effect, signal } from "@preact/signals";
import type { FleetView, InboxView, Incident, NodeView, SessionView, TransitionView } from "../api";
import { livedBetween, moment, setFleetClock } from "../shell/time";
import { followAttention } from "./attention";
import { Client, Refused } from "./client";
import { Outings } from "./outings";
import { Roster } from "./roster";
import { Stream } from "./stream";
import { handedToken } from "./token";

export type Connection =
  | { kind: "connecting" }
  | { kind: "live" }
  | { kind: "lost"; since: Date; reason: string; retryAt: number }
  | { kind: "signed-out"; reason: string };

const LATEST_KEPT = 50;
/** Transitions before the page was opened are shown too. */
export const RECENT_SECONDS = 1800;

export const connection = signal<Connection>({ kind: "connecting" });
export const fleet = signal<FleetView | null>(null);
export const latest = signal<readonly TransitionView[]>([]);
/** Open incidents, the newest first. */
export const incidents = signal<readonly Incident[]>([]);
/** The signed-in user of this browser; null before it was read. */
export const session = signal<SessionView | null>(null);
/** Items that need an operator, read at start, periodically, and after every change. null: not read yet. */
export const inbox = signal<InboxView | null>(null);
/** Why the inbox could not be read; '' if it was read. */
export const inboxTrouble = signal("");
/** Root causes of open incidents: names of nodes, and subjects such as rack/r1 or leaf/l3. */
export const roots = computed<ReadonlySet<string>>(() => {
  const found = new Set<string>();
  for (const { subject, account } of incidents.value) {
    const [kind = "", name = ""] = subject.split("/", 2);
    if (kind !== "node") found.add(subject);
    else if (account) found.add(name); // without an account the node itself failed; that is its health
  }
  return found;
});
const outings = new Outings();
export const roster = new Roster();
effect(() => roster.setRoots(roots.value));

/** Seconds by which the controller's clock is ahead of the browser's; negative if the browser's is ahead. */
let ahead = 0;
/** The header has whole seconds, and a response takes time. */
const CLOCK_SECONDS = 3;
const client = new Client(document.baseURI, receiveClock);
let stream: Stream | null = null;

export function ask(): Client {
  return client;
}

/** The controller's time, to compute ages. */
export function now(): number {
  return Date.now() / 1000 + ahead;
}

/** The age of a time in fleet time, which runs faster than the clock in a demo. */
export function lived(at: number): string {
  return livedBetween(at, now());
}

/** "10:37:17" of today, "17 Nov, 10:37" of another day, by the fleet's clock. */
export function when(at: number): string {
  return moment(at, now());
}

/** Corrects for a browser clock that is wrong. */
function receiveClock(at: number): void {
  if (Math.abs(at - now()) > CLOCK_SECONDS) ahead = at - Date.now() / 1000;
}

/** No received time can be in the future: corrects for a browser clock that is behind. */
function receiveTime(at: number | null): void {
  if (at !== null && at > now()) ahead = at - Date.now() / 1000;
}

function takeNodes(nodes: readonly NodeView[]): void {
  nodes.forEach((node) => receiveTime(node.last_report_at));
  roster.replace(nodes);
}

function takeFleet(view: FleetView): void {
  setFleetClock(view.clock_began, view.time_factor);
  fleet.value = view;
}

function takeNode(node: NodeView): void {
  receiveTime(node.since);
  roster.put(node);
}

function takeTransition(transition: TransitionView): void {
  const same = ({ node, at, after }: TransitionView): boolean =>
    node === transition.node && at === transition.at && after === transition.after;
  if (!outings.isRelevant(transition) || latest.value.some(same)) return;
  latest.value = [transition, ...latest.value].slice(0, LATEST_KEPT);
}

function takeIncident(incident: Incident): void {
  const others = incidents.value.filter((known) => known.id !== incident.id);
  const open = incident.state === "closed" ? others : [incident, ...others];
  incidents.value = open.toSorted((one, other) => other.opened - one.opened); // the order does not depend on the cost
}

const INBOX_SECONDS = 10;
/** Longer than the controller caches an answer, so that the next answer contains the change. */
const INBOX_PAUSE_SECONDS = 2.5;
let inboxTimer: ReturnType<typeof setTimeout> | undefined;

/** Reads the inbox after a short pause: many changes at once are one request. */
export function readInbox(pauseSeconds = 0): void {
  clearTimeout(inboxTimer);
  inboxTimer = setTimeout(() => void fetchInbox().then(schedule), pauseSeconds * 1000);
}

/** Never fails: an unreadable inbox must neither hide the fleet nor look empty. */
async function fetchInbox(): Promise<void> {
  try {
    inbox.value = await client.inbox();
    inboxTrouble.value = "";
  } catch (error) {
    inboxTrouble.value = whyRefused(error);
  }
}

function schedule(): void {
  if (connection.value.kind === "live" && !document.hidden) readInbox(INBOX_SECONDS);
}

export function connect(): void {
  stream?.stop();
  connection.value = { kind: "connecting" };
  stream = new Stream(client, {
    async resync() {
      void fetchInbox();
      // The grid is drawn as soon as the nodes are read. The stream's first event has the fleet's figures.
      const [, open, moves] = await Promise.all([
        client.nodes().then(takeNodes),
        client.openIncidents(),
        client.transitions(now() - RECENT_SECONDS),
      ]);
      incidents.value = open;
      latest.value = [];
      outings.forget();
      moves.forEach(takeTransition);
    },
    message(kind, data) {
      if (kind === "node") takeNode(data as NodeView);
      else if (kind === "fleet") takeFleet(data as FleetView);
      else if (kind === "transition") takeTransition(data as TransitionView);
      else if (kind === "incident") takeIncident(data as Incident);
      if (kind === "incident") readInbox(INBOX_PAUSE_SECONDS);
    },
    live: () => {
      connection.value = { kind: "live" };
      schedule();
    },
    lost: (reason, retrySeconds) => {
      const before = connection.value;
      const since = before.kind === "lost" ? before.since : new Date(now() * 1000);
      connection.value = { kind: "lost", since, reason, retryAt: Date.now() + retrySeconds * 1000 };
    },
    signedOut,
  });
  stream.start();
}

/** `#token=...` in the address signs in once and is removed from the address bar. */
async function begin(): Promise<void> {
  const token = handedToken();
  if (token) await client.signIn(token).catch((error: unknown) => void (refusal = `The token was refused: ${whyRefused(error)}`));
  void readSession();
  connect();
}

/** Connects, and disconnects while the tab is hidden. */
export function connectWhileSeen(): void {
  void begin();
  followAttention(document, {
    away: () => stream?.stop(),
    back: () => connection.value.kind !== "signed-out" && connect(),
  });
}

/** Why the token of the address was refused. */
let refusal = "";

function signedOut(): void {
  const expired = session.value?.signed_in ?? false;
  connection.value = { kind: "signed-out", reason: expired ? "The session has ended." : refusal };
  void readSession();
}

export async function readSession(): Promise<void> {
  try {
    session.value = await client.session();
  } catch {
    // the state of the connection shows the error
  }
}

/** Raises Refused with the controller's reason. */
export async function signIn(token: string): Promise<void> {
  session.value = await client.signIn(token);
  connect();
}

export async function signOut(): Promise<void> {
  await client.signOut();
  await readSession();
  connect();
}

export function retryNow(): void {
  stream?.retryNow();
}

/** The controller's reason, without signing out: a refused token does not end the session. */
export function whyRefused(error: unknown): string {
  return error instanceof Refused ? error.message : "the controller does not answer";
}

/** For requests outside the stream: an expired token signs out too. */
export function whyFailed(error: unknown): string {
  if (error instanceof Refused && error.status === 401) {
    stream?.stop();
    signedOut();
  }
  return error instanceof Refused ? error.message : "the controller does not answer";
}
