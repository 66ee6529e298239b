import { graph } from "./graph";

const BOX = { width: 150, height: 30, across: 56, down: 12 };

/** The paths as a graph; the same paths follow as text for screen readers. */
export function PathGraph({ paths, victims }: { paths: readonly string[]; victims: readonly string[] }) {
  const { boxes, edges, columns, rows } = graph(paths, victims);
  if (boxes.length < 2) return null;
  const width = columns * BOX.width + (columns - 1) * BOX.across;
  const height = rows * (BOX.height + BOX.down);
  const taken = (column: number): number => boxes.filter((box) => box.column === column).length;
  const left = (column: number): number => column * (BOX.width + BOX.across);
  const top = (column: number, row: number): number => (height - taken(column) * (BOX.height + BOX.down)) / 2 + row * (BOX.height + BOX.down) + BOX.down / 2;
  const find = (id: string) => boxes.find((box) => box.id === id)!;
  return (
    <div class="scroll" role="region" aria-label="Graph from cause to symptoms" tabIndex={0}>
      <svg class="path-graph" width={width} height={height} viewBox={`0 0 ${width} ${height}`} role="img" aria-label={paths.slice(0, 6).join("; ")}>
        {edges.map(([from, to]) => {
          const [one, other] = [find(from), find(to)];
          const [x, y] = [left(one.column) + BOX.width, top(one.column, one.row) + BOX.height / 2];
          const [u, v] = [left(other.column), top(other.column, other.row) + BOX.height / 2];
          return <path key={`${from} ${to}`} d={`M${x} ${y}C${x + BOX.across / 2} ${y} ${u - BOX.across / 2} ${v} ${u - 5} ${v}m-6 -4l6 4l-6 4`} />;
        })}
        {boxes.map((box) => (
          <g key={box.id} class={box.column === 0 ? "cause" : box.column === columns - 1 ? "symptom" : ""}>
            <title>{box.words}</title>
            <rect x={left(box.column) + 0.5} y={top(box.column, box.row) + 0.5} width={BOX.width - 1} height={BOX.height - 1} rx={5} />
            <text x={left(box.column) + BOX.width / 2} y={top(box.column, box.row) + 20} text-anchor="middle">
              {box.words.length > 20 ? `${box.words.slice(0, 19)}…` : box.words}
            </text>
          </g>
        ))}
      </svg>
    </div>
  );
}
