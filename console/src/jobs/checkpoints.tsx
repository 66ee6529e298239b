import type { TrainingDetail } from "../api";

/** Which steps are safe, and what lies between them and now. */
export function Checkpoints({ job }: { job: TrainingDetail }) {
  const saved = job.exposure?.saved_step ?? -1;
  if (saved < 0 && job.ranks.every((rank) => rank.saved_step < 0)) {
    return <p class="faint">No rank told of a checkpoint: what a failure costs is not known.</p>;
  }
  const nodes = new Map<string, number>();
  for (const rank of job.ranks) {
    if (rank.saved_step >= 0) nodes.set(rank.node, Math.max(nodes.get(rank.node) ?? -1, rank.saved_step));
  }
  const behind = [...nodes].filter(([, step]) => step < saved);
  return (
    <ul class="cards">
      <li>
        <strong>Step {saved.toLocaleString("en")} is safe</strong>, {job.exposure?.steps ?? 0} steps behind the run; {nodes.size} of {job.nodes.length} nodes
        told of it.
      </li>
      {behind.length > 0 && (
        <li>
          Behind it:{" "}
          {behind
            .slice(0, 20)
            .map(([node, step]) => `${node} (step ${step.toLocaleString("en")})`)
            .join(", ")}
        </li>
      )}
      <li class="faint">
        Saving takes {job.checkpoint_efficiency == null ? "an unknown share" : `${((1 - job.checkpoint_efficiency) * 100).toFixed(1)} %`} of the time of its steps.
      </li>
    </ul>
  );
}
