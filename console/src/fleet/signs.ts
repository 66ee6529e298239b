/**
 * How a cell is drawn. Its colour is the node's health; its letter (large cells) or shape (small ones) is the stage. A node
 * in service is solid, one out of service is hollow. Colour is never the only sign: health is also a colourless mark on top.
 */

import type { Health, Stage } from "../api";

export type Theme = "dark" | "light";
/** A card has room for the stage's name; the node's own is written above it. */
export type Form = "card" | "letter" | "shape";

interface StageSign {
  letter: string;
  means: string;
  /** Solid: the scheduler may use the node, or a test decides soon. */
  solid: boolean;
}

const WHITE = "#ffffff";
const BLACK = "#161200";

export const STAGE_SIGNS: Record<Stage, StageSign> = {
  provisioning: { letter: "P", solid: false, means: "known, not tested yet" },
  testing: { letter: "T", solid: true, means: "the full test is running" },
  ready: { letter: "R", solid: true, means: "passed the full test; no workload has run since" },
  spare: { letter: "H", solid: true, means: "passed the full test; held as a replacement" },
  allocated: { letter: "A", solid: true, means: "a workload runs here" },
  cleaning: { letter: "C", solid: true, means: "the workload ended; the test has not started" },
  draining: { letter: "D", solid: false, means: "failed or requested; running work finishes first" },
  quarantined: { letter: "Q", solid: false, means: "out of service, waiting for the next repair step or an operator" },
  resetting: { letter: "S", solid: false, means: "a repair step is running" },
  removed: { letter: "X", solid: false, means: "removed; an operator handles it" },
};

interface HealthSign {
  /** Chosen so that the letter on it stands out by 4.5 to 1. */
  colour: string;
  ink: string;
  means: string;
}

export const HEALTH_SIGNS: Record<Health, HealthSign> = {
  pass: { colour: "#236b4f", ink: WHITE, means: "every check passes" },
  degraded: { colour: "#e0a326", ink: BLACK, means: "works, but slower than expected" },
  fail: { colour: "#d8343b", ink: WHITE, means: "a check fails" },
  unknown: { colour: "#6a7584", ink: WHITE, means: "not enough data" },
};

/** Text in a hollow cell has the background of the page. */
const ON_PAGE: Record<Theme, Record<Health, string>> = {
  dark: { pass: "#5fc79d", degraded: "#f0b849", fail: "#ff8085", unknown: "#aab4c0" },
  light: { pass: "#12714c", degraded: "#805500", fail: "#b3141b", unknown: "#55616e" },
};

export interface Sign {
  stage: Stage;
  health: Health;
}

export function letterColour({ stage, health }: Sign, theme: Theme): string {
  return STAGE_SIGNS[stage].solid ? HEALTH_SIGNS[health].ink : ON_PAGE[theme][health];
}

const MARK: Record<Theme, string> = { dark: "#ffffff", light: "#000000" };
/** Two colours, so that the mark is visible on every cell. */
const ROOT_MARK = { fill: "#ffd23f", edge: "#161200" };
const SMALLEST_LETTER_CELL = 16;
export const SMALLEST_CARD = 56;
/** The font on the canvas: that of the page. */
export const FONT = '"Inter Variable", system-ui, sans-serif';

export function formFor(pitch: number): Form {
  if (pitch >= SMALLEST_CARD) return "card";
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

function drawBox(c: CanvasRenderingContext2D, sign: Sign, size: number, theme: Theme, round: number, edge: number): void {
  c.beginPath();
  if (STAGE_SIGNS[sign.stage].solid) {
    c.roundRect(0, 0, size, size, round);
    c.fill();
  } else {
    c.lineWidth = edge;
    c.strokeStyle = letterColour(sign, theme);
    c.roundRect(edge / 2, edge / 2, size - edge, size - edge, round);
    c.stroke();
  }
  c.fillStyle = letterColour(sign, theme);
}

function drawCard(c: CanvasRenderingContext2D, sign: Sign, size: number, theme: Theme): void {
  drawBox(c, sign, size, theme, size * 0.09, Math.max(2, size * 0.045));
  c.font = `450 ${Math.round(size * 0.165)}px ${FONT}`;
  c.textAlign = "center";
  c.textBaseline = "middle";
  c.fillText(sign.stage, size / 2, size * 0.64, size * 0.9);
}

function drawLetter(c: CanvasRenderingContext2D, sign: Sign, size: number, theme: Theme): void {
  drawBox(c, sign, size, theme, size * 0.14, Math.max(2, size * 0.1));
  c.font = `600 ${Math.round(size * 0.58)}px ${FONT}`;
  c.textAlign = "center";
  c.textBaseline = "middle";
  c.fillText(STAGE_SIGNS[sign.stage].letter, size / 2, size * 0.54);
}

function drawHealth(c: CanvasRenderingContext2D, { stage, health }: Sign, size: number, theme: Theme): void {
  if (health === "pass") return;
  const weight = Math.min(Math.max(1, Math.round(size * 0.09)), 2 + Math.round(size / 80));
  c.strokeStyle = c.fillStyle = MARK[theme];
  c.lineWidth = weight;
  c.beginPath();
  if (health === "fail") {
    if (STAGE_SIGNS[stage].solid) c.strokeRect(weight / 2, weight / 2, size - weight, size - weight);
  } else if (health === "degraded") {
    const corner = Math.max(3, Math.min(size * 0.34, 8 + size * 0.1));
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

/** The root of an open incident: a corner on every cell, and a frame if there is room. */
export function drawRoot(c: CanvasRenderingContext2D, x: number, y: number, size: number): void {
  const corner = Math.max(4, Math.min(size * 0.45, 10 + size * 0.14));
  if (size >= SMALLEST_LETTER_CELL) {
    const edge = Math.max(2, Math.min(4, size * 0.06));
    c.lineWidth = edge;
    c.strokeStyle = ROOT_MARK.fill;
    c.strokeRect(x + edge / 2, y + edge / 2, size - edge, size - edge);
  }
  c.beginPath();
  c.moveTo(x, y);
  c.lineTo(x + corner, y);
  c.lineTo(x, y + corner);
  c.closePath();
  c.fillStyle = ROOT_MARK.fill;
  c.fill();
  c.lineWidth = Math.max(1, size * 0.04);
  c.strokeStyle = ROOT_MARK.edge;
  c.stroke();
}

/** Draw one cell of `size` at the origin. */
export function drawSign(c: CanvasRenderingContext2D, sign: Sign, size: number, form: Form, theme: Theme): void {
  c.save();
  c.beginPath();
  c.rect(0, 0, size, size);
  c.clip();
  c.fillStyle = STAGE_SIGNS[sign.stage].solid ? HEALTH_SIGNS[sign.health].colour : letterColour(sign, theme);
  if (form === "card") {
    drawCard(c, sign, size, theme);
  } else if (form === "letter") {
    drawLetter(c, sign, size, theme);
  } else {
    c.beginPath();
    SHAPES[sign.stage](c, size);
    c.fill();
  }
  drawHealth(c, sign, size, theme);
  c.restore();
}
