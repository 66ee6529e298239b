/**
 * The drawn fleet in its frame: lays the filtered nodes out again when the room, the filter, the grouping or the fleet
 * itself changes, and otherwise only has the changed cells drawn.
 */

import { effect } from "@preact/signals";
import { roots, roster } from "../live/session";
import type { Changes } from "../live/roster";
import { route } from "../shell/route";
import { theme } from "../shell/theme";
import { arrange, groupNodes, type Arrangement } from "./arrange";
import { filterFrom, type Matches } from "./filter";
import { Painter } from "./painter";

export class Sheet {
  private readonly painter: Painter;
  private readonly closing: (() => void)[] = [];
  private matches: Matches | null = null;
  private members: ReadonlySet<string> = new Set();
  private zoom = 0;

  constructor(
    private readonly frame: HTMLElement,
    canvas: HTMLCanvasElement,
    private readonly arranged: (arrangement: Arrangement) => void,
  ) {
    this.painter = new Painter(canvas, roster.nodes);
    const resized = new ResizeObserver(() => {
      this.painter.resize(frame.clientWidth, frame.clientHeight);
      this.arrange();
      this.painter.drawNow();
    });
    resized.observe(frame);
    const scrolled = (): void => this.painter.scrollTo(frame.scrollTop);
    frame.addEventListener("scroll", scrolled, { passive: true });
    this.closing.push(
      () => resized.disconnect(),
      () => frame.removeEventListener("scroll", scrolled),
      roster.observe((changes) => this.take(changes)),
      effect(() => {
        void [route.value.group, route.value.find, theme.value];
        this.arrange();
      }),
      effect(() => this.painter.mark(roots.value)),
      () => this.painter.stop(),
    );
  }

  zoomTo(zoom: number): void {
    if (zoom === this.zoom) return;
    this.zoom = zoom;
    this.arrange();
  }

  close(): void {
    this.closing.forEach((close) => close());
  }

  private take({ structure, names }: Changes): void {
    if (structure || this.changesMembers(names)) this.arrange();
    else this.painter.update(names);
  }

  private changesMembers(names: ReadonlySet<string>): boolean {
    const { matches } = this;
    if (!matches) return false;
    return [...names].some((name) => {
      const node = roster.nodes.get(name);
      return node !== undefined && matches(node) !== this.members.has(name);
    });
  }

  private arrange(): void {
    const { group, find } = route.peek();
    const matches = (this.matches = filterFrom(find));
    const nodes = [...roster.nodes.values()].filter((node) => !matches || matches(node));
    this.members = new Set(nodes.map((node) => node.name));
    const room = { width: this.frame.clientWidth, height: this.frame.clientHeight };
    const arrangement = arrange(groupNodes(nodes, group), room, this.zoom, group);
    this.painter.show(arrangement, theme.peek());
    this.arranged(arrangement);
  }
}
