import type { TrainingView } from "../api";
import { ask, lived } from "../live/session";
import { useAnswer } from "../live/use_answer";
import { amount, percent } from "../shell/figures";
import { open, route } from "../shell/route";
import { List } from "../shell/list";
import type { Column } from "../shell/order";
import { View } from "../shell/view";
import { JobDetail } from "./detail";
import { ToIncident } from "./to_incident";

const REFRESH_SECONDS = 5;
const COLUMNS: readonly Column<TrainingView>[] = [
  { head: "Job", by: (job) => job.job },
  { head: "State", by: (job) => job.state },
  { head: "Health", by: (job) => job.health },
  { head: "Step", by: (job) => job.step, number: true, largestFirst: true },
  { head: "Step time", by: (job) => job.step_seconds, number: true, largestFirst: true },
  { head: "Goodput", by: (job) => job.goodput, number: true },
  { head: "At risk, GPU-h", by: (job) => job.exposure_gpu_hours, number: true, largestFirst: true },
  { head: "Ranks and nodes", by: (job) => job.world, number: true, largestFirst: true },
  { head: "Last report", by: (job) => job.last_report_at, largestFirst: true },
  { head: "Why" },
];

/** Running jobs first, then by size: an order that reports do not change. */
function inOrder(one: TrainingView, other: TrainingView): number {
  const over = Number(one.state !== "running") - Number(other.state !== "running");
  return over || other.world - one.world || one.job.localeCompare(other.job);
}

/** An unknown health has its reason too. */
const TO_EXPLAIN: ReadonlySet<string> = new Set(["degraded", "fail", "unknown"]);

/** The reason without the job's name, which the row shows already. */
function withoutName({ job, reason }: TrainingView): string {
  return reason.startsWith(`${job}: `) ? reason.slice(job.length + 2) : reason;
}

function Row({ job }: { job: TrainingView }) {
  return (
    <tr>
      <th scope="row">
        <button type="button" class="link" onClick={() => open("jobs", job.job)}>
          {job.job}
        </button>
      </th>
      <td data-head="State">{job.state}</td>
      <td data-head="Health">
        <span class={`health ${job.health}`}>{job.health}</span>
      </td>
      <td class="number" data-head="Step">{job.reports_progress && job.step >= 0 ? job.step.toLocaleString("en") : ""}</td>
      <td class="number" data-head="Step time">{job.step_seconds == null ? "" : `${amount(job.step_seconds)} s`}</td>
      <td class="number" data-head="Goodput">{percent(job.goodput)}</td>
      <td class="number" data-head="At risk, GPU-h">{job.exposure_gpu_hours == null ? "unknown" : amount(job.exposure_gpu_hours)}</td>
      <td class="number" data-head="Ranks and nodes">
        {job.ranks_reporting} of {job.world} on {job.nodes.length}
      </td>
      <td class="short" data-head="Last report">{lived(job.last_report_at)} ago</td>
      <td class="sentence">
        {TO_EXPLAIN.has(job.health) && withoutName(job)}
        {job.incident && <ToIncident subject={job.incident} />}
      </td>
    </tr>
  );
}

function Everything() {
  const { value, trouble } = useAnswer(() => ask().trainings(), "jobs", REFRESH_SECONDS);
  return (
    <View title="Jobs" what="The jobs" trouble={trouble}>
      {!value && !trouble && <p class="empty">Loading …</p>}
      {value?.length === 0 && (
        <p class="empty">
          No job reports its progress yet. In the training script: <code>from holdfast.training import Progress</code>; docs/progress.md
          shows the two lines.
        </p>
      )}
      {value && value.length > 0 && (
        <List
          rows={value.toSorted(inOrder)}
          columns={COLUMNS}
          keyOf={(job) => `${job.owner} ${job.job}`}
          text={(job) => [job.job, job.owner, job.state, job.health, job.reason, ...job.nodes].join(" ")}
          choices={[
            { name: "state", label: "State", options: ["running", "silent", "closed", "gone"] },
            { name: "health", label: "Health", options: ["pass", "degraded", "fail", "unknown"] },
          ]}
          fits={(job, chosen) => (!chosen["state"] || job.state === chosen["state"]) && (!chosen["health"] || job.health === chosen["health"])}
          what="jobs"
          hint="llama, degraded, n017"
          render={(job) => <Row key={`${job.owner} ${job.job}`} job={job} />}
        />
      )}
    </View>
  );
}

export function JobsPage() {
  const { item } = route.value;
  return item ? <JobDetail key={item} name={item} /> : <Everything />;
}
