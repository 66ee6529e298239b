/** The result of a drill: the document of `holdfast drill run --json`, and one entry per minute. */

export interface DrillFinding {
  cause: string;
  kind: string;
  confidence: number;
}

export interface DrillMoment {
  at_seconds: number;
  findings: readonly DrillFinding[];
  dashboards: readonly { team: string; label: string; subject: string; unit: string; now: number | null; usual: number | null; changed: number }[];
}

export interface DrillOutcome {
  drill: string;
  title: string;
  about: string;
  seed: number;
  nodes: number;
  lasts_seconds: number;
  truth: readonly { cause: string; kind: string; start_seconds: number; end_seconds: number | null; visible_seconds: number | null }[];
  findings: readonly (DrillFinding & { at_seconds: number; path: readonly string[] })[];
  score: {
    top1: boolean;
    top3: boolean;
    detect_seconds: number | null;
    false_findings: number;
    first_alert_seconds: number | null;
    before_alert: boolean | null;
  };
  cost: {
    total: number;
    lost_gpu_hours: number;
    delay_hours: number;
    layers: readonly { name: string; cost: number | null; formula: string; inputs: string }[];
    by: readonly { name: string; gpus: number; lost_hours: number }[];
  };
  moments: readonly DrillMoment[];
  speeds: readonly { name: string; points: readonly (readonly [number, number])[] }[];
}

export function minute(seconds: number): string {
  return `minute ${Number((seconds / 60).toFixed(1))}`;
}

/** The score in one sentence, as `holdfast drill run` says it. */
export function verdict({ truth, score }: Pick<DrillOutcome, "truth" | "score">): string {
  const made = score.false_findings === 1 ? "1 false finding" : `${score.false_findings || "no"} false findings`;
  if (truth.length === 0) return `${score.top1 ? "Right" : "Wrong"}: nothing was wrong, ${made}.`;
  const late = score.detect_seconds === null ? "never found" : `found ${Math.round(score.detect_seconds)} s after it was first visible`;
  const alert = score.first_alert_seconds === null ? "" : `; the first single-component alert comes at ${minute(score.first_alert_seconds)}`;
  return `${score.top1 ? "Right" : "Wrong"}: ${late}, ${made}${alert}.`;
}
