/** HTTP client of the controller: the only place that knows the token, the URLs and the error format. */

import type {
  AuditEntry,
  CallerView,
  DrillRunView,
  DrillsView,
  FleetView,
  HomeView,
  InboxView,
  ItemAction,
  ItemDetail,
  ItemView,
  Incident,
  NodeDetail,
  NodeView,
  PartsView,
  PlanView,
  ProbesView,
  RunbookView,
  SeriesView,
  SessionView,
  HistoryPage,
  SubjectsView,
  TopologyView,
  TrainingDetail,
  TrainingView,
  TransitionView,
  OperatorActionsView,
} from "../api";

export class Refused extends Error {
  constructor(
    readonly status: number,
    message: string,
    /** The code of a refusal, if a status has several (409). */
    readonly code = "",
  ) {
    super(message);
  }
}

const SECONDS_TO_ANSWER = 30;

async function refusal(response: Response): Promise<Refused> {
  let words = `the controller answered ${response.status}`;
  let code = "";
  try {
    const body: unknown = await response.json();
    if (typeof body === "object" && body !== null && "error" in body) words = String(body.error);
    if (typeof body === "object" && body !== null && "code" in body) code = String(body.code);
  } catch {
    // Not JSON: a proxy answered; use the status code.
  }
  return new Refused(response.status, words, code);
}

/** The controller requires this header for changes; a page of another site cannot set it. */
const SESSION_HEADER = { "X-Holdfast-Session": "console" };

/** Requests carry the session's cookie, which the page itself cannot read. */
export class Client {
  constructor(
    readonly base: string,
    /** Receives the controller's clock with every response, in seconds. */
    private readonly receiveClock: (at: number) => void = () => undefined,
  ) {}

  async open(path: string, accept: string, more: RequestInit = {}): Promise<Response> {
    const headers: Record<string, string> = { Accept: accept, ...SESSION_HEADER };
    if (more.body) headers["Content-Type"] = "application/json";
    const response = await fetch(new URL(path, this.base), { headers, cache: "no-store", ...more });
    const clock = Date.parse(response.headers.get("Date") ?? "");
    if (!Number.isNaN(clock)) this.receiveClock(clock / 1000);
    if (!response.ok) throw await refusal(response);
    return response;
  }

  async get<T>(path: string): Promise<T> {
    const timeout = AbortSignal.timeout(SECONDS_TO_ANSWER * 1000);
    return (await (await this.open(path, "application/json", { signal: timeout })).json()) as T;
  }

  async post<T>(path: string, body: object): Promise<T> {
    const timeout = AbortSignal.timeout(SECONDS_TO_ANSWER * 1000);
    const asked = { method: "POST", body: JSON.stringify(body), signal: timeout };
    return (await (await this.open(path, "application/json", asked)).json()) as T;
  }

  fleet(): Promise<FleetView> {
    return this.get("v1/fleet");
  }

  async nodes(): Promise<NodeView[]> {
    return (await this.get<{ nodes: NodeView[] }>("v1/nodes")).nodes;
  }

  async openIncidents(): Promise<Incident[]> {
    return (await this.get<{ incidents: Incident[] }>("v1/incidents?only=open")).incidents;
  }

  /** Oldest first. */
  async transitions(since: number, limit = 1_000): Promise<TransitionView[]> {
    return (await this.get<{ transitions: TransitionView[] }>(`v1/transitions?since=${Math.max(0, since).toFixed(0)}&limit=${limit}`)).transitions;
  }

  node(name: string): Promise<NodeDetail> {
    return this.get(`v1/nodes/${encodeURIComponent(name)}`);
  }

  parts(name: string): Promise<PartsView> {
    return this.get(`v1/nodes/${encodeURIComponent(name)}/parts`);
  }

  /** The signed-in user, and the ways to sign in. */
  session(): Promise<SessionView> {
    return this.get("v1/session");
  }

  signIn(token: string): Promise<SessionView> {
    return this.post("v1/session", { token });
  }

  async signOut(): Promise<void> {
    await this.open("v1/session", "application/json", { method: "DELETE" });
  }

  me(): Promise<CallerView> {
    return this.get("v1/me");
  }

  /** Actions that an operator can request for the node now, with their effects. */
  actions(name: string): Promise<OperatorActionsView> {
    return this.get(`v1/nodes/${encodeURIComponent(name)}/operator-actions`);
  }

  /** `force` overrides the breaker: more nodes of the pool may be out of service than its policy allows. */
  act(name: string, action: string, reason: string, force: boolean): Promise<NodeView> {
    return this.post(`v1/nodes/${encodeURIComponent(name)}/${encodeURIComponent(action)}`, { reason, force });
  }

  /** The newest incidents, open and past. */
  async incidents(): Promise<Incident[]> {
    return (await this.get<{ incidents: Incident[] }>("v1/incidents?limit=200")).incidents;
  }

  incident(id: string): Promise<Incident> {
    return this.get(`v1/incidents/${id.split("/").map(encodeURIComponent).join("/")}`);
  }

  /** The runbook with the incident's names filled in. */
  runbook(id: string): Promise<RunbookView> {
    return this.get(`v1/runbooks/${id.split("/").map(encodeURIComponent).join("/")}`);
  }

  /** The address of the incident's post-mortem. */
  postMortem(id: string): string {
    return new URL(`v1/post-mortems/${id.split("/").map(encodeURIComponent).join("/")}`, this.base).href;
  }

  /** A runbook by its name, with a node and a part of it (gpu/3) filled in. */
  runbookNamed(name: string, node = "", part = ""): Promise<RunbookView> {
    return this.get(`v1/runbook/${encodeURIComponent(name)}?${new URLSearchParams({ node, part })}`);
  }

  home(points = 120): Promise<HomeView> {
    return this.get(`v1/home?points=${points}`);
  }

  /** Inbox items; with `hours`, also those that ended within this time. */
  inbox(pastHours = 0): Promise<InboxView> {
    return this.get(pastHours > 0 ? `v1/inbox?past_hours=${pastHours}` : "v1/inbox");
  }

  item(key: string): Promise<ItemDetail> {
    return this.get(`v1/inbox/${key.split("/").map(encodeURIComponent).join("/")}`);
  }

  actOnItem(item: string, action: ItemAction, more: { assignee?: string; hours?: number; comment?: string } = {}): Promise<ItemView> {
    return this.post("v1/inbox", { item, action, ...more });
  }

  async trainings(): Promise<TrainingView[]> {
    return (await this.get<{ jobs: TrainingView[] }>("v1/trainings")).jobs;
  }

  training(name: string): Promise<TrainingDetail> {
    return this.get(`v1/trainings/${encodeURIComponent(name)}`);
  }

  probes(): Promise<ProbesView> {
    return this.get("v1/probes");
  }

  topology(): Promise<TopologyView> {
    return this.get("v1/topology");
  }

  /** One signal of a subject and its siblings; '': the first measured signal. */
  series(subject: string, signal: string, seconds: number, ago = 0): Promise<SeriesView> {
    const asked = new URLSearchParams({ subject, ...(signal && { signal }), seconds: seconds.toFixed(0), ago: ago.toFixed(0) });
    return this.get(`v1/series?${asked}`);
  }

  subjects(find: string): Promise<SubjectsView> {
    return this.get(`v1/series/subjects?${new URLSearchParams({ find, limit: "100" })}`);
  }

  /** Newest first. */
  async audit(since: number): Promise<AuditEntry[]> {
    return (await this.get<{ entries: AuditEntry[] }>(`v1/audit?since=${since.toFixed(0)}&limit=1000`)).entries;
  }

  /** One of the calculators; `asking` is a query string. */
  plan(name: string, asking: string): Promise<PlanView> {
    return this.get(`v1/plan/${encodeURIComponent(name)}?${asking}`);
  }

  drills(): Promise<DrillsView> {
    return this.get("v1/drills");
  }

  playDrill(drill: string): Promise<DrillRunView> {
    return this.post("v1/drills/run", { drill });
  }

  async cancelDrill(): Promise<void> {
    await this.open("v1/drills/run", "application/json", { method: "DELETE" });
  }

  nodeHistory(name: string, before = ""): Promise<HistoryPage> {
    const page = new URLSearchParams({ limit: "50", ...(before && { before }) });
    return this.get(`v1/nodes/${encodeURIComponent(name)}/history?${page}`);
  }
}
