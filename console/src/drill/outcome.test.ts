import { expect, test } from "vitest";
import { minute, verdict } from "./outcome";

const SCORE = { top1: true, top3: true, detect_seconds: 60, false_findings: 0, first_alert_seconds: 1560, before_alert: true };
const TRUTH = [{ cause: "cdu/c1", kind: "cooling.flow_low", start_seconds: 1200, end_seconds: null, visible_seconds: 1300 }];

test("a score is one sentence", () => {
  expect(verdict({ truth: TRUTH, score: SCORE })).toBe(
    "Right: found 60 s after it was first visible, no false findings; the first single-component alert comes at minute 26.",
  );
});

test("where nothing was wrong, silence is right", () => {
  expect(verdict({ truth: [], score: { ...SCORE, first_alert_seconds: null } })).toBe("Right: nothing was wrong, no false findings.");
  expect(verdict({ truth: [], score: { ...SCORE, top1: false, false_findings: 1 } })).toContain("1 false finding");
});

test("minutes are shown with a digit where they need one", () => expect([minute(60), minute(90)]).toEqual(["minute 1", "minute 1.5"]));
