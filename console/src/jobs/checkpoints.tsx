import type { CheckpointsView, TrainingDetail } from "../api";
import { amount, percent } from "../shell/figures";

/** The safe steps, the places of their copies, and the unsaved steps since. */

const GIB = 2 ** 30;

export function step(number: number): string {
  return number.toLocaleString("en");
}

export function share(ranks: number, world: number): string {
  return ranks === 0 ? "" : ranks === world ? "all ranks" : `${step(ranks)} of ${step(world)}`;
}

function Places({ kept }: { kept: CheckpointsView }) {
  const gpus = kept.steps.some((one) => one.gpu_memory > 0);
  return (
    <div class="scroll" role="region" aria-label="Where the copies of each step are" tabIndex={0}>
      <table class="matrix">
        <caption>Ranks whose shard of a step is in each place; newest first</caption>
        <thead>
          <tr>
            {["Step", ...(gpus ? ["GPU memory"] : []), "Own memory", "Partner", "Storage", ""].map((head) => (
              <th key={head} scope="col">
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {kept.steps.map((one) => (
            <tr key={one.step}>
              <th scope="row">{step(one.step)}</th>
              {gpus && <td>{share(one.gpu_memory, kept.world)}</td>}
              <td>{share(one.own_memory, kept.world)}</td>
              <td>{kept.replicas < 2 ? "no replica" : share(one.partner, kept.world)}</td>
              <td>{share(one.storage, kept.world)}</td>
              <td>{one.committed ? "committed" : ""}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Kept({ kept }: { kept: CheckpointsView }) {
  const stored = kept.storage_unknown
    ? `the content of storage is not fully known (${kept.storage_unknown})`
    : kept.stored_step < 0
      ? "no step is complete in storage"
      : `step ${step(kept.stored_step)} is complete in storage`;
  return (
    <>
      <p>
        <strong>{kept.committed_step < 0 ? "No step is committed yet" : `Step ${step(kept.committed_step)} is committed`}</strong>; {stored};{" "}
        {kept.unsaved_step < 0 ? "storage has everything in memory" : `step ${step(kept.unsaved_step)} is in memory only`}.{" "}
        <span class="faint">
          {kept.keepers} keepers of {kept.kept_as}, {kept.replicas} replicas, {amount(kept.used_bytes / GIB)} of {amount(kept.budget_bytes / GIB)} GiB of memory.
        </span>
      </p>
      {kept.steps.length > 0 && <Places kept={kept} />}
      {kept.troubles.length > 0 && (
        <ul class="cards">
          {kept.troubles.map((sentence) => (
            <li key={sentence}>{sentence}</li>
          ))}
        </ul>
      )}
    </>
  );
}

export function Checkpoints({ job }: { job: TrainingDetail }) {
  const saved = job.exposure?.saved_step ?? -1;
  const kept = job.checkpoints;
  return (
    <>
      {saved < 0 ? (
        <p class="faint">No safe step was reported: a failure now loses everything since the start.</p>
      ) : (
        <p>
          <strong>Step {step(saved)} is safe</strong>, {step(job.exposure?.steps ?? 0)} steps behind the job.
        </p>
      )}
      {kept.unknown ? <p class="faint">The location of its checkpoints is unknown: {kept.unknown}.</p> : <Kept kept={kept} />}
      <p class="faint">
        Saving takes {job.checkpoint_efficiency == null ? "an unknown share" : percent(1 - job.checkpoint_efficiency)} of its step time.
      </p>
    </>
  );
}
