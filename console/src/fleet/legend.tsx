import { useEffect, useRef, useState } from "preact/hooks";
import { HEALTHS, STAGES, type Health, type Stage } from "../api";
import { roots, roster } from "../live/session";
import { go, route } from "../shell/route";
import { theme } from "../shell/theme";
import { toggleWord } from "./filter";
import { drawRoot, drawSign, formFor, HEALTH_SIGNS, STAGE_SIGNS, type Form } from "./signs";

const SIZE = 16;

/** Drawn by the same code as the cells, in their current form, so that the legend cannot differ from them. */
function Swatch({ stage, health, form }: { stage: Stage; health: Health; form: Form }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const look = theme.value;
  useEffect(() => {
    const c = canvas.current?.getContext("2d");
    if (!c || !canvas.current) return;
    const scale = window.devicePixelRatio || 1;
    canvas.current.width = canvas.current.height = SIZE * scale;
    drawSign(c, { stage, health }, SIZE * scale, form, look);
  }, [stage, health, form, look]);
  return <canvas class="swatch" ref={canvas} aria-hidden="true" />;
}

function RootSwatch() {
  const canvas = useRef<HTMLCanvasElement>(null);
  const look = theme.value;
  useEffect(() => {
    const c = canvas.current?.getContext("2d");
    if (!c || !canvas.current) return;
    const scale = window.devicePixelRatio || 1;
    canvas.current.width = canvas.current.height = SIZE * scale;
    drawSign(c, { stage: "ready", health: "pass" }, SIZE * scale, "letter", look);
    drawRoot(c, 0, 0, SIZE * scale);
  }, [look]);
  return <canvas class="swatch" ref={canvas} aria-hidden="true" />;
}

interface EntryProps {
  word: string;
  count: number;
  name: string;
  means: string;
  swatch: preact.ComponentChild;
}

function Entry({ word, count, name, means, swatch }: EntryProps) {
  const pressed = route.value.find.split(/\s+/).includes(word);
  return (
    <button
      type="button"
      class={count ? "entry" : "entry none"}
      title={`${name}: ${means}`}
      aria-pressed={pressed}
      onClick={() => go({ find: toggleWord(route.value.find, word) })}
    >
      {swatch}
      <span>{name}</span>{" "}
      <strong>{count.toLocaleString("en")}</strong>
    </button>
  );
}

export function Legend({ pitch }: { pitch: number }) {
  const [counts, setCounts] = useState(() => roster.count());
  useEffect(() => roster.observe(() => setCounts(roster.count())), []);
  const form = formFor(pitch) === "shape" ? "shape" : "letter"; // a swatch is too small for a card
  return (
    <div class="legend">
      <div role="group" aria-label="Health of a node: the colour of its cell">
        <span class="caption">Health</span>
        {HEALTHS.map((health) => (
          <Entry
            key={health}
            word={`health:${health}`}
            count={counts.healths[health]}
            name={health}
            means={HEALTH_SIGNS[health].means}
            swatch={<Swatch stage="ready" health={health} form={form} />}
          />
        ))}
        <span class="entry" title="An open incident starts from this node">
          <RootSwatch /> <span>incident root</span> <strong>{[...roots.value].filter((name) => roster.nodes.has(name)).length}</strong>
        </span>
        <span class="entry faint">filled: in service, outlined: out of service</span>
      </div>
      <div role="group" aria-label="Stage of a node: letter or shape">
        <span class="caption">Stage</span>
        {STAGES.map((stage) => (
          <Entry
            key={stage}
            word={`stage:${stage}`}
            count={counts.stages[stage]}
            name={stage}
            means={STAGE_SIGNS[stage].means}
            swatch={<Swatch stage={stage} health="pass" form={form} />}
          />
        ))}
      </div>
    </div>
  );
}
