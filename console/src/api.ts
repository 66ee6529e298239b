/** Short names for the API's types, and the order in which stages and health values are shown. */

import type { components } from "./openapi";

type Schemas = components["schemas"];

export const STAGES = [
  "provisioning",
  "testing",
  "ready",
  "spare",
  "allocated",
  "cleaning",
  "draining",
  "quarantined",
  "resetting",
  "removed",
] as const satisfies readonly Schemas["Stage"][];
export type Stage = Schemas["Stage"];

export const HEALTHS = ["pass", "degraded", "fail", "unknown"] as const satisfies readonly Schemas["Health"][];
/** Health of a node, without `not_applicable`. A newer controller may send other values, so check before indexing. */
export type Health = (typeof HEALTHS)[number];

type Known<View> = Omit<View, "health"> & { health: Health };

export type NodeView = Known<Schemas["NodeView"]>;
export type NodeDetail = Known<Schemas["NodeDetail"]>;
/** The stream sends it without figures, the list and its own page with them. */
export type Incident = Omit<Schemas["IncidentView"], "figures"> & Partial<Pick<Schemas["IncidentView"], "figures">>;
export type Account = Schemas["Account"];
export type Bill = Schemas["Bill"];
export type Moment = Schemas["Moment"];
export type RunbookView = Schemas["RunbookView"];
export type HomeView = Schemas["HomeView"];
export type FigureSample = Schemas["FigureSample"];
export type ItemView = Schemas["ItemView"];
export type ItemDetail = Schemas["ItemDetail"];
export type InboxView = Schemas["InboxView"];
export type ItemAction = Schemas["ItemAction"];
export type NextStep = Schemas["NextStep"];
export type TrainingView = Schemas["TrainingView"];
export type TrainingDetail = Schemas["TrainingDetail"];
export type RankView = Schemas["RankView"];
export type CheckpointsView = Schemas["CheckpointsView"];
export type PartsView = Schemas["PartsView"];
export type ProofView = Schemas["ProofView"];
export type VerdictView = Schemas["VerdictView"];
export type HistoryEntry = Schemas["HistoryEntry"];
export type HistoryPage = Schemas["HistoryView"];
export type PoolView = Schemas["PoolView"];
export type FleetView = Schemas["FleetView"];
export type TransitionView = Schemas["TransitionView"];
export type SessionView = Schemas["SessionView"];
export type CallerView = Schemas["CallerView"];
export type OperatorActionView = Schemas["OperatorActionView"];
export type OperatorActionsView = Schemas["OperatorActionsView"];
export type ProbesView = Schemas["ProbesView"];
export type LeafPairView = Schemas["LeafPairView"];
export type EdgeView = Schemas["EdgeView"];
export type TopologyView = Schemas["TopologyView"];
export type SeriesView = Schemas["SeriesView"];
export type SubjectsView = Schemas["SubjectsView"];
export type AuditEntry = Schemas["AuditEntry"];
export type PlanView = Schemas["PlanView"];
export type DrillsView = Schemas["DrillsView"];
export type DrillRunView = Schemas["DrillRunView"];
