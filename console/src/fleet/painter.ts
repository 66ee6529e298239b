/**
 * Draws the arrangement on one canvas that is as large as what is seen of it. Every possible cell is drawn once into an
 * atlas; a cell that changed is one copy from there. At most one draw per frame, and of the changed cells only.
 */

import { HEALTHS, STAGES, type NodeView } from "../api";
import { gapOf, type Arrangement } from "./arrange";
import { drawRoot, drawSign, FONT, formFor, letterColour, type Theme } from "./signs";

const LABEL_BASELINE = 12;
const LONGEST_NAME_IN_CELL = 10;

export class Painter {
  private arrangement: Arrangement | null = null;
  private atlas = document.createElement("canvas");
  private theme: Theme = "dark";
  private label = "#888";
  private warning = "#888";
  private scale = 1;
  private top = 0;
  private everything = false;
  private stale = new Set<string>();
  private roots: ReadonlySet<string> = new Set();
  private frame = 0;

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly nodes: ReadonlyMap<string, NodeView>,
  ) {}

  show(arrangement: Arrangement, theme: Theme): void {
    this.arrangement = arrangement;
    this.theme = theme;
    this.scale = window.devicePixelRatio || 1;
    const style = getComputedStyle(this.canvas);
    this.label = style.color;
    this.warning = style.getPropertyValue("--warn") || style.color;
    this.fillAtlas(this.cellSize());
    this.redraw();
  }

  resize(width: number, height: number): void {
    const scale = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(width * scale);
    this.canvas.height = Math.round(height * scale);
    this.redraw();
  }

  scrollTo(top: number): void {
    this.top = top;
    this.redraw();
  }

  /** Root causes of open incidents: nodes, and groups such as rack/r1. */
  mark(roots: ReadonlySet<string>): void {
    this.roots = roots;
    this.redraw();
  }

  update(names: ReadonlySet<string>): void {
    names.forEach((name) => this.stale.add(name));
    this.request();
  }

  stop(): void {
    cancelAnimationFrame(this.frame);
  }

  /** Draw before the browser paints: a canvas that changed its size is empty until then. */
  drawNow(): void {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    this.draw();
  }

  private redraw(): void {
    this.everything = true;
    this.request();
  }

  private request(): void {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      this.draw();
    });
  }

  private cellSize(): number {
    const pitch = this.arrangement?.pitch ?? 8;
    return Math.round((pitch - gapOf(pitch)) * this.scale);
  }

  private fillAtlas(size: number): void {
    this.atlas.width = size * STAGES.length;
    this.atlas.height = size * HEALTHS.length;
    const c = this.atlas.getContext("2d");
    if (!c || !this.arrangement) return;
    const form = formFor(this.arrangement.pitch);
    STAGES.forEach((stage, column) =>
      HEALTHS.forEach((health, row) => {
        c.setTransform(1, 0, 0, 1, column * size, row * size);
        drawSign(c, { stage, health }, size, form, this.theme);
      }),
    );
  }

  private draw(): void {
    const c = this.canvas.getContext("2d");
    if (!c || !this.arrangement) return;
    if (this.everything) this.drawAll(c, this.arrangement);
    else this.drawStale(c, this.arrangement);
    this.everything = false;
    this.stale.clear();
  }

  private drawAll(c: CanvasRenderingContext2D, arrangement: Arrangement): void {
    c.setTransform(1, 0, 0, 1, 0, 0);
    c.clearRect(0, 0, this.canvas.width, this.canvas.height);
    this.drawLabels(c, arrangement);
    for (let i = 0; i < arrangement.names.length; i++) this.drawCell(c, arrangement, i);
  }

  private drawStale(c: CanvasRenderingContext2D, arrangement: Arrangement): void {
    const size = this.cellSize();
    for (const name of this.stale) {
      const index = arrangement.at.get(name);
      if (index === undefined) continue;
      c.clearRect(...this.corner(arrangement, index), size, size);
      this.drawCell(c, arrangement, index);
    }
  }

  private drawLabels(c: CanvasRenderingContext2D, arrangement: Arrangement): void {
    c.font = `500 ${11 * this.scale}px ${FONT}`;
    c.textAlign = "left";
    for (const group of arrangement.groups) {
      const root = this.roots.has(`${arrangement.by}/${group.name}`);
      const [x, y] = [group.x * this.scale, (group.y - this.top) * this.scale];
      c.fillStyle = root ? this.warning : this.label;
      if (arrangement.labelled) c.fillText(root ? `▲ ${group.name}` : group.name, x, y + LABEL_BASELINE * this.scale);
      else if (root) drawRoot(c, x, y, 8 * this.scale);
    }
  }

  private corner({ xs, ys }: Arrangement, index: number): [x: number, y: number] {
    const y = (ys[index] ?? 0) - this.top;
    return [Math.round((xs[index] ?? 0) * this.scale), Math.round(y * this.scale)];
  }

  private drawCell(c: CanvasRenderingContext2D, arrangement: Arrangement, index: number): void {
    const node = this.nodes.get(arrangement.names[index] ?? "");
    const [x, y] = this.corner(arrangement, index);
    const size = this.cellSize();
    if (!node || y + size < 0 || y > this.canvas.height) return;
    const column = STAGES.indexOf(node.stage);
    const row = HEALTHS.indexOf(node.health);
    if (column < 0 || row < 0) return; // a value of a newer controller: draw no cell rather than a wrong one
    c.drawImage(this.atlas, column * size, row * size, size, size, x, y, size, size);
    if (this.roots.has(node.name)) drawRoot(c, x, y, size);
    if (formFor(arrangement.pitch) === "card") this.drawName(c, node, x + size / 2, y + size * 0.45, size);
  }

  private drawName(c: CanvasRenderingContext2D, node: NodeView, x: number, y: number, size: number): void {
    const short = node.name.length > LONGEST_NAME_IN_CELL ? `…${node.name.slice(1 - LONGEST_NAME_IN_CELL)}` : node.name;
    c.font = `600 ${Math.round(size * 0.21)}px ${FONT}`;
    c.fillStyle = letterColour(node, this.theme);
    c.textAlign = "center";
    c.fillText(short, x, y, size * 0.9);
  }
}
