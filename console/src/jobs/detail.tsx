import type { TrainingDetail } from "../api";
import { ask } from "../live/session";
import { useAnswer } from "../live/use_answer";
import { amount, many, percent } from "../shell/figures";
import { age, timeOfDay } from "../shell/time";
import { View } from "../shell/view";
import { Checkpoints } from "./checkpoints";
import { HeatMap } from "./heat";
import { LedgerBar } from "./ledger";
import { ToIncident } from "./to_incident";

const REFRESH_SECONDS = 5;

function Facts({ job }: { job: TrainingDetail }) {
  const speed = job.step_seconds != null && job.usual_step_seconds != null ? job.usual_step_seconds / job.step_seconds : null;
  const facts: [string, string][] = [
    ["State", `${job.state}, attempt ${job.attempt}, ${job.step < 0 ? "no step yet" : `step ${job.step.toLocaleString("en")}`}`],
    ["Speed, relative to usual", percent(speed)],
    ["Tokens per second", job.tokens_per_second == null ? "unknown" : many(job.tokens_per_second)],
    ["Loss", job.loss?.toPrecision(5) ?? "unknown"],
    ["Effective training time (ETTR)", percent(job.ettr)],
    ["Goodput", percent(job.goodput)],
    ["Checkpoint efficiency", percent(job.checkpoint_efficiency)],
    ["Cluster-days of progress", amount(job.cluster_days)],
  ];
  return (
    <dl class="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function Exposure({ job }: { job: TrainingDetail }) {
  const risk = job.exposure;
  return (
    <p class="lead">
      {risk == null ? (
        "The cost of a failure now is unknown: no safe step was reported."
      ) : (
        <>
          A failure now would lose <strong>{amount(risk.gpu_hours)} GPU-hours</strong>,{" "}
          {risk.steps > 0 ? `${risk.steps} steps since step ${risk.saved_step}, ${many(risk.tokens)} tokens` : `the time since its last report; step ${risk.saved_step} is safe`}.
        </>
      )}
    </p>
  );
}

function Slow({ job }: { job: TrainingDetail }) {
  if (job.slow.length === 0) return <p class="faint">No rank is slower than its peers.</p>;
  return (
    <ul class="cards">
      {job.slow.map((one) => (
        <li key={`${one.subject} ${one.check}`}>
          <strong>{one.subject}</strong> takes {(one.ratio * 100).toFixed(0)} % longer than {one.subject === `job/${job.job}` ? "usual" : "its peers"}
          {one.since != null && ` since ${timeOfDay(one.since)}`}
          <p class="faint">
            {one.reason}
            {one.incident && <ToIncident subject={one.incident} />}
          </p>
        </li>
      ))}
    </ul>
  );
}

function Restarts({ job }: { job: TrainingDetail }) {
  if (job.restarts.length === 0) return <p class="faint">It has not been restarted.</p>;
  return (
    <ul class="cards">
      {job.restarts.map((one) => (
        <li key={one.at}>
          {timeOfDay(one.at)}: down {age(0, one.down_seconds)}, {one.lost_steps} steps from {one.from_step < 0 ? "the beginning" : `step ${one.from_step}`} repeated;{" "}
          <strong>{amount(one.gpu_hours)} GPU-hours</strong>
          {one.notes.map((line) => (
            <p key={line}>{line}</p>
          ))}
          {one.notes.length === 0 && <p class="faint">None of its nodes left service before this; <code>holdfast diagnose</code> can read its logs.</p>}
        </li>
      ))}
    </ul>
  );
}

export function JobDetail({ name }: { name: string }) {
  const { value: job, trouble, missing } = useAnswer(() => ask().training(name), name, REFRESH_SECONDS);
  return (
    <View title={name} what="The job" trouble={trouble} missing={missing && !job} back={{ view: "jobs", label: "All jobs" }}>
      {job && (
        <>
          {job.reason && (
            <p class="lead">
              {job.reason}
              {job.incident && <ToIncident subject={job.incident} />}
            </p>
          )}
          <Facts job={job} />
          <Exposure job={job} />
          <h3>Where its GPU-hours went</h3>
          <LedgerBar hours={job.gpu_hours} />
          <h3>Slow ranks and links</h3>
          <Slow job={job} />
          <HeatMap ranks={job.ranks} leftOut={job.ranks_left_out} />
          <h3>Checkpoints</h3>
          <Checkpoints job={job} />
          <h3>Failures and restarts</h3>
          <Restarts job={job} />
        </>
      )}
    </View>
  );
}
