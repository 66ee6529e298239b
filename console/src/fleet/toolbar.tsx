import { useEffect, useState } from "preact/hooks";
import { roster } from "../live/session";
import { go, route } from "../shell/route";
import { groupings, LARGEST_PITCH, SMALLEST_PITCH } from "./arrange";
import { Coverage } from "./coverage";

interface Props {
  shown: number;
  pitch: number;
  zoom: number;
  onZoom: (zoom: number) => void;
}

function Grouping() {
  const [kinds, setKinds] = useState(() => groupings(roster.nodes.values()));
  useEffect(
    () => roster.observe(({ structure }) => structure && setKinds(groupings(roster.nodes.values()))),
    [],
  );
  return (
    <label>
      Group by{" "}
      <select value={route.value.group} onChange={(event) => go({ group: event.currentTarget.value })}>
        {[...new Set([...kinds, route.value.group])].map((kind) => (
          <option key={kind} value={kind}>
            {kind}
          </option>
        ))}
      </select>
    </label>
  );
}

function Find() {
  const leave = (event: KeyboardEvent): void => {
    if (event.key !== "Escape" && event.key !== "Enter") return;
    event.stopPropagation();
    if (event.key === "Escape") go({ find: "" });
    document.getElementById("grid")?.focus();
  };
  return (
    <label class="find">
      Filter{" "}
      <input
        id="find"
        type="search"
        placeholder="n017, gpu.xid, rack:r3"
        value={route.value.find}
        onInput={(event) => go({ find: event.currentTarget.value })}
        onKeyDown={leave}
        aria-keyshortcuts="/"
      />
      <kbd aria-hidden="true">/</kbd>
    </label>
  );
}

export function Toolbar({ shown, pitch, zoom, onZoom }: Props) {
  const total = roster.nodes.size;
  return (
    <div class="toolbar" role="toolbar" aria-label="View of the fleet">
      <Grouping />
      <Find />
      <output>
        {shown === total || !pitch ? "" : `${shown.toLocaleString("en")} of `}
        {total.toLocaleString("en")} nodes
      </output>
      <Coverage />
      <span class="spacer" />
      <span class="zoom" role="group" aria-label="Size of the cells">
        <button
          type="button"
          aria-label="Smaller cells"
          disabled={pitch <= SMALLEST_PITCH}
          onClick={() => onZoom(zoom - 1)}
        >
          −
        </button>
        <button type="button" disabled={zoom === 0} onClick={() => onZoom(0)}>
          Fit
        </button>
        <button
          type="button"
          aria-label="Larger cells"
          disabled={pitch >= LARGEST_PITCH}
          onClick={() => onZoom(zoom + 1)}
        >
          +
        </button>
      </span>
    </div>
  );
}
