/** The top of the home page: current state of the fleet, losses, and items for the operator. Its height never changes. */

import { useEffect } from "preact/hooks";
import type { FigureSample, HomeView, ItemView } from "../api";
import { ask, inbox, inboxTrouble } from "../live/session";
import { lastedOf } from "../inbox/duration";
import { needsText } from "../inbox/empty";
import { useAnswer } from "../live/use_answer";
import { pieces } from "../shell/chart";
import { amount, money, percent } from "../shell/figures";
import { open } from "../shell/route";
import { lasting } from "../shell/time";

const MOST_ITEMS = 3;
const UNKNOWN = "not known";

interface TileProps {
  name: string;
  value: string;
  detail: string;
  values: readonly (number | null)[];
  onOpen?: () => void;
  tone?: string;
}

function Tile({ name, value, detail, values, onOpen, tone = "" }: TileProps) {
  const line = { start: 0, step: 1, values };
  const body = (
    <>
      <span class="name">{name}</span>
      <strong class={value === UNKNOWN ? "value unknown" : "value"}>{value}</strong>
      <span class="detail">{detail}</span>
      <svg class="spark" viewBox="0 0 600 54" preserveAspectRatio="none" aria-hidden="true">
        {values.length > 1 &&
          pieces(line, { from: 0, to: values.length - 1 }).map((points) => (
            <g key={points}>
              <polygon class="area" points={under(points)} />
              <polyline points={points} />
            </g>
          ))}
      </svg>
    </>
  );
  return onOpen ? (
    <button type="button" class={`tile ${tone}`} onClick={onOpen}>
      {body}
    </button>
  ) : (
    <div class={`tile ${tone}`}>{body}</div>
  );
}

/** The area between a line and the bottom of its chart. */
function under(points: string): string {
  const all = points.split(" ");
  const [first = "0,0"] = all;
  return `${first.split(",")[0]},54 ${points} ${(all.at(-1) ?? first).split(",")[0]},54`;
}

function series(home: HomeView | null, value: (one: FigureSample) => number | null | undefined): (number | null)[] {
  return (home?.history ?? []).map((one) => value(one) ?? null);
}

function share(one: FigureSample): number | null {
  return one.gpus ? (one.productive ?? 0) / one.gpus : null;
}

/** The other GPUs: on nodes without a job, or lost. Rounded like the large figure, so that the three add up. */
function notProductive({ gpus, productive, lost }: FigureSample): string {
  const gone = Math.round(lost ?? 0);
  const idle = Math.round(gpus ?? 0) - Math.round(productive ?? 0) - gone;
  return `${amount(Math.max(0, idle))} idle, ${amount(gone)} lost`;
}

function Needs({ items }: { items: readonly ItemView[] | null }) {
  const waiting = (items ?? []).filter((item) => item.state === "open");
  const more = waiting.length - MOST_ITEMS;
  const acknowledged = (items ?? []).filter((item) => item.state === "acknowledged").length;
  return (
    <section class="needs" aria-label="What needs you">
      <h2>
        What needs you
        <button type="button" class="link" onClick={() => open("inbox")}>
          {more > 0 ? `Inbox: ${more} more` : "Inbox"}
        </button>
      </h2>
      <ul>
        {waiting.length === 0 && <li class="none faint">{needsText(items !== null, inboxTrouble.value, acknowledged)}</li>}
        {waiting.slice(0, MOST_ITEMS).map((item) => (
          <li key={item.key} class={item.severity}>
            <button type="button" class="link" title={item.detail} onClick={() => open("inbox", item.key)}>
              {item.title}
            </button>
            <span class="remedy" title={item.remedy}>
              {item.remedy}
            </span>
            <span class="faint">
              {item.assignee || item.owner}, {lastedOf(item)}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

export function Strip() {
  const { value: home, again } = useAnswer(() => ask().home(), "home", 0, true);
  useEffect(again, [inbox.value]); // read every few seconds and after each change of an incident, so that both figures are of the same moment
  const figures = home?.figures;
  const at = figures?.now;
  const covers = figures ? lasting(figures.covers_seconds) : "";
  const currency = home?.currency ?? "USD";
  const none = figures ? UNKNOWN : "…";
  return (
    <section class="strip" aria-label="The fleet now">
      <Tile
        name={at?.gpus == null ? "GPUs productive now" : `GPUs productive now, of ${amount(at.gpus)}`}
        value={at?.productive == null ? none : amount(Math.round(at.productive))}
        detail={at?.gpus == null ? "no GPU reported yet" : notProductive(at)}
        values={series(home, (one) => one.productive)}
      />
      <Tile
        name="Compute lost, last 24 h"
        value={figures && at?.lost != null ? money(figures.lost_cost, currency) : none}
        detail={figures && at?.lost != null ? `${amount(figures.lost_gpu_hours)} GPU-h; now ${amount(at.lost)} GPUs` : ""}
        values={series(home, (one) => one.lost)}
        tone={(at?.lost ?? 0) > 0 ? "warn" : ""}
      />
      <Tile
        name="Goodput, last 24 h"
        value={figures?.goodput == null ? none : percent(figures.goodput)}
        detail={figures?.goodput == null ? "" : `of GPU time; data of ${covers}`}
        values={series(home, share)}
      />
      <Needs items={inbox.value?.items ?? null} />
    </section>
  );
}
