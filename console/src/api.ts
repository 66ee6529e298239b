/** What the API's document calls things, under short names, and the words of stage and health it leaves open. */

import type { components } from "./openapi";

type Schemas = components["schemas"];

export const STAGES = [
  "provisioning",
  "testing",
  "ready",
  "allocated",
  "cleaning",
  "draining",
  "quarantined",
  "resetting",
  "removed",
] as const;
export type Stage = (typeof STAGES)[number];

export const HEALTHS = ["pass", "degraded", "fail", "unknown"] as const;
export type Health = (typeof HEALTHS)[number];

/** A newer controller may know more words than this page; what draws or counts looks before it indexes. */
type Known<View> = Omit<View, "stage" | "health"> & { stage: Stage; health: Health };

export type NodeView = Known<Schemas["NodeView"]>;
export type NodeDetail = Known<Schemas["NodeDetail"]>;
export type VerdictView = Schemas["VerdictView"];
export type StoryEntry = Schemas["StoryEntry"];
export type StoryPage = Schemas["StoryView"];
export type PoolView = Schemas["PoolView"];
export type FleetView = Schemas["FleetView"];
export type TransitionView = Schemas["TransitionView"];
