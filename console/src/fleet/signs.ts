/**
 * How a cell is drawn. Colour is never the only sign: the stage is also a letter in large cells and a shape in small
 * ones, and health is a colourless mark on top.
 */

import type { Health, Stage } from "../api";

export type Theme = "dark" | "light";
export type Form = "letter" | "shape";

interface StageSign {
  letter: string;
  /** Chosen so that the letter on it stands out by 4.5 to 1, in the dark and in the light. */
  colour: string;
  ink: string;
  means: string;
}

const WHITE = "#ffffff";
const BLACK = "#161200";

export const STAGE_SIGNS: Record<Stage, StageSign> = {
  provisioning: { letter: "P", colour: "#6a7584", ink: WHITE, means: "known, not tested yet" },
  testing: { letter: "T", colour: "#17808e", ink: WHITE, means: "the full test is running" },
  ready: { letter: "R", colour: "#2a7d5c", ink: WHITE, means: "passed the full test; no workload has run since" },
  spare: { letter: "H", colour: "#4d7a27", ink: WHITE, means: "passed the full test; held as a replacement" },
  allocated: { letter: "A", colour: "#3b74c6", ink: WHITE, means: "a workload runs here" },
  cleaning: { letter: "C", colour: "#66769f", ink: WHITE, means: "the workload ended; the test has not started" },
  draining: { letter: "D", colour: "#e0a326", ink: BLACK, means: "failed or requested; running work finishes first" },
  quarantined: { letter: "Q", colour: "#d8343b", ink: WHITE, means: "out of service, waiting for the next repair step" },
  resetting: { letter: "S", colour: "#9d55c8", ink: WHITE, means: "a repair step is running" },
  removed: { letter: "X", colour: "#7c8794", ink: "", means: "removed; an operator handles it" },
};

/** A removed node's cell is hollow, so what is written in it stands on the page itself. */
export function letterColour(stage: Stage, theme: Theme): string {
  return STAGE_SIGNS[stage].ink || (theme === "dark" ? "#aab4c0" : "#55616e");
}

export const HEALTH_MEANS: Record<Health, string> = {
  pass: "every check passes",
  degraded: "works, but slower than expected",
  fail: "a check fails",
  unknown: "not enough data",
};

const MARK: Record<Theme, string> = { dark: "#ffffff", light: "#000000" };
const SMALLEST_LETTER_CELL = 16;

export function formFor(pitch: number): Form {
  return pitch >= SMALLEST_LETTER_CELL ? "letter" : "shape";
}

function tracePolygon(c: CanvasRenderingContext2D, size: number, ...points: [number, number][]): void {
  points.forEach(([x, y], i) => (i === 0 ? c.moveTo(x * size, y * size) : c.lineTo(x * size, y * size)));
  c.closePath();
}

const SHAPES: Record<Stage, (c: CanvasRenderingContext2D, size: number) => void> = {
  provisioning: (c, s) => c.rect(s * 0.28, s * 0.28, s * 0.44, s * 0.44),
  testing: (c, s) => tracePolygon(c, s, [0.5, 0], [1, 1], [0, 1]),
  ready: (c, s) => c.rect(0, 0, s, s),
  spare: (c, s) => tracePolygon(c, s, [0, 0], [1, 0], [1, 1]),
  allocated: (c, s) => c.arc(s / 2, s / 2, s / 2, 0, Math.PI * 2),
  cleaning: (c, s) => tracePolygon(c, s, [0, 0], [1, 0], [0.5, 1]),
  draining: (c, s) => tracePolygon(c, s, [0.5, 0], [1, 0.5], [0.5, 1], [0, 0.5]),
  quarantined: (c, s) => {
    tracePolygon(c, s, [0, 0.25], [0.25, 0], [1, 0.75], [0.75, 1]);
    tracePolygon(c, s, [0.75, 0], [1, 0.25], [0.25, 1], [0, 0.75]);
  },
  resetting: (c, s) => {
    c.rect(s * 0.33, 0, s * 0.34, s);
    c.rect(0, s * 0.33, s, s * 0.34);
  },
  removed: (c, s) => {
    const edge = Math.max(1, s * 0.14);
    c.rect(0, 0, s, edge);
    c.rect(0, s - edge, s, edge);
    c.rect(0, 0, edge, s);
    c.rect(s - edge, 0, edge, s);
  },
};

function drawLetter(c: CanvasRenderingContext2D, stage: Stage, size: number, theme: Theme): void {
  const hollow = stage === "removed";
  c.beginPath();
  if (hollow) {
    c.lineWidth = Math.max(1, size * 0.07);
    c.strokeStyle = c.fillStyle;
    c.roundRect(c.lineWidth / 2, c.lineWidth / 2, size - c.lineWidth, size - c.lineWidth, size * 0.14);
    c.stroke();
  } else {
    c.roundRect(0, 0, size, size, size * 0.14);
    c.fill();
  }
  c.fillStyle = letterColour(stage, theme);
  c.font = `600 ${Math.round(size * 0.58)}px system-ui, sans-serif`;
  c.textAlign = "center";
  c.textBaseline = "middle";
  c.fillText(STAGE_SIGNS[stage].letter, size / 2, size * 0.54);
}

function drawHealth(c: CanvasRenderingContext2D, health: Health, size: number, theme: Theme): void {
  if (health === "pass") return;
  const weight = Math.min(Math.max(1, Math.round(size * 0.09)), 2 + Math.round(size / 40));
  c.strokeStyle = c.fillStyle = MARK[theme];
  c.lineWidth = weight;
  c.beginPath();
  if (health === "fail") {
    c.strokeRect(weight / 2, weight / 2, size - weight, size - weight);
  } else if (health === "degraded") {
    const corner = Math.max(3, size * 0.34);
    c.moveTo(size, size - corner);
    c.lineTo(size, size);
    c.lineTo(size - corner, size);
    c.fill();
  } else {
    c.moveTo(0, size);
    c.lineTo(size, 0);
    c.stroke();
  }
}

/** Draw one cell of `size` at the origin. */
export function drawSign(
  c: CanvasRenderingContext2D,
  sign: { stage: Stage; health: Health },
  size: number,
  form: Form,
  theme: Theme,
): void {
  c.save();
  c.beginPath();
  c.rect(0, 0, size, size);
  c.clip();
  c.fillStyle = STAGE_SIGNS[sign.stage].colour;
  if (form === "letter") {
    drawLetter(c, sign.stage, size, theme);
  } else {
    c.beginPath();
    SHAPES[sign.stage](c, size);
    c.fill();
  }
  drawHealth(c, sign.health, size, theme);
  c.restore();
}
