import { useState } from "preact/hooks";
import type { ProbesView } from "../api";
import { Curve, type CurveLine } from "../shell/curve";
import { axisClock, inFleetTime } from "../shell/time";
import { bytes, readSweep } from "./sweep";

const MOST_FILES = 4;

/** Every probe session of the period. */
export function History({ probes }: { probes: ProbesView }) {
  if (probes.history.length < 2) return <p class="faint">Fewer than two probe sessions were measured within the period.</p>;
  const points = probes.history.map(({ at, bytes_per_second }) => [inFleetTime(at), bytes_per_second / 1e9] as const);
  const ends = [points[0]![0], points.at(-1)![0]] as const;
  const usual = probes.usual_bytes_per_second;
  const lines: CurveLine[] = [{ name: "sessions, each between two nodes", points, dots: true }];
  if (usual !== null) lines.push({ name: "80 % of usual; below it, the pair is probed again", limit: true, points: ends.map((x) => [x, (0.8 * usual) / 1e9] as const) });
  const clock = (at: number): string => axisClock(at, ends[1] - ends[0]);
  return <Curve title="Bandwidth of the probe sessions over time" across="time" up="GB/s" lines={lines} tick={clock} times />;
}

/** Sweeps from files; several can be overlaid. */
export function Sweeps() {
  const [lines, setLines] = useState<readonly CurveLine[]>([]);
  const [trouble, setTrouble] = useState("");
  const take = async (files: FileList | null): Promise<void> => {
    try {
      const read = await Promise.all([...(files ?? [])].slice(0, MOST_FILES).map(async (file) => readSweep(file.name, await file.text())));
      setLines(read.flat());
      setTrouble("");
    } catch (error) {
      setTrouble(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <>
      <label class="row">
        Sweeps by payload size, from files of <code>holdfast probe run --json</code>:
        <input type="file" accept=".json" multiple onChange={(event) => void take((event.target as HTMLInputElement).files)} />
      </label>
      {trouble && (
        <p class="trouble" role="alert">
          {trouble}
        </p>
      )}
      {lines.length > 0 && <Curve title="Bus bandwidth by payload size" across="payload" up="GB/s" lines={lines} logX base={32} tick={bytes} />}
    </>
  );
}
