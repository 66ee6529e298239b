/** Inputs of each calculator, with the names of `holdfast plan`; an empty input uses the controller's default. */

import type { Range } from "./scale";

export type Control = { name: string; label: string; start?: string; more?: boolean } & (
  | { kind: "slider"; range: Range }
  | { kind: "choice"; among: readonly string[]; other?: Range }
  | { kind: "text"; hint: string }
  | { kind: "yes" }
);

export interface Question {
  name: string;
  title: string;
  about: string;
  controls: readonly Control[];
}

const count = (from: number, to: number): Range => ({ unit: "number", from, to, log: true });
const lasting = (from: number, to: number): Range => ({ unit: "duration", from, to, log: true });
const share: Range = { unit: "share", from: 0, to: 1 };
const HOUR = 3600;
const DAY = 86_400;

const gpus = (start: string): Control => ({ kind: "slider", name: "gpus", label: "GPUs of the job", start, range: count(8, 262_144) });
const rate: Control = {
  kind: "choice",
  name: "rate",
  label: "Failures per GPU-year",
  start: "llama3",
  among: ["llama3", "rsc1", "rsc2", "databricks", "epoch"],
  other: count(0.001, 10),
};
const restart: Control = { kind: "slider", name: "restart", label: "Time from failure to running again", start: "10m", range: lasting(10, 4 * HOUR) };
const own: Control[] = [
  { kind: "text", name: "events", label: "Instead of a rate: your own failures", hint: "12", more: true },
  { kind: "text", name: "gpu_years", label: "GPU-years in which they happened", hint: "40", more: true },
];

export const QUESTIONS: readonly Question[] = [
  {
    name: "risk",
    title: "Risk",
    about: "How likely a run has a failure, and how many.",
    controls: [
      gpus("1024"),
      { kind: "slider", name: "days", label: "Days the run takes", start: "30", range: count(1, 365) },
      rate,
      { kind: "text", name: "shape", label: "Weibull shape, below 1 for new parts", hint: "1", more: true },
      { kind: "text", name: "age_days", label: "Age of the parts in days", hint: "0", more: true },
      ...own,
    ],
  },
  {
    name: "checkpoint",
    title: "Checkpoint",
    about: "How often and where to write checkpoints, and how productive the run then is.",
    controls: [
      gpus("16384"),
      rate,
      { kind: "slider", name: "write", label: "Stall per write", start: "30s", range: lasting(0.5, HOUR) },
      restart,
      { kind: "text", name: "interval", label: "Compare this interval with the best", hint: "30m", more: true },
      { kind: "text", name: "memory_write", label: "Memory tier: stall per write", hint: "2s", more: true },
      { kind: "text", name: "memory_restart", label: "Restart from memory", hint: "2m", more: true },
      { kind: "text", name: "memory_survives", label: "Share of failures that memory survives", hint: "0.95", more: true },
      { kind: "text", name: "state", label: "Size of a checkpoint", hint: "5TB", more: true },
      { kind: "text", name: "target", label: "Target productive share", hint: "0.95", more: true },
      ...own,
    ],
  },
  {
    name: "spares",
    title: "Spares",
    about: "How many spare nodes to hold.",
    controls: [
      { kind: "slider", name: "nodes", label: "Nodes in use", start: "2048", range: count(8, 32_768) },
      rate,
      { kind: "slider", name: "repair", label: "Time from failure to return", start: "3d", range: lasting(600, 60 * DAY) },
      { kind: "slider", name: "swap", label: "Share of failures that need this repair", start: "1", range: share },
      { kind: "slider", name: "confidence", label: "Share of time with enough spares", start: "0.99", range: { unit: "share", from: 0.5, to: 0.9999 } },
      { kind: "text", name: "gpus_per_node", label: "GPUs in a node", hint: "8", more: true },
      { kind: "text", name: "crews", label: "Repair crews, each on one node at a time", hint: "as needed", more: true },
      ...own,
    ],
  },
  {
    name: "limit",
    title: "Limit",
    about: "How far a run can scale before failures stop it.",
    controls: [
      rate,
      { kind: "slider", name: "state", label: "Size of a checkpoint", start: "5TB", range: { unit: "size", from: 1e9, to: 1e15, log: true } },
      { kind: "slider", name: "bandwidth", label: "Storage bandwidth", start: "2TB/s", range: { unit: "bandwidth", from: 1e9, to: 1e14, log: true } },
      restart,
      { kind: "choice", name: "network_exponent", label: "Bandwidth grows with GPUs to this power", start: "0", among: ["0", "1/2", "2/3", "1"] },
      { kind: "yes", name: "growing", label: "The model grows with the cluster" },
      { kind: "text", name: "state_gpus", label: "GPUs at which a checkpoint has that size", hint: "16384", more: true },
      ...own,
    ],
  },
  {
    name: "price",
    title: "Price",
    about: "The price of a productive GPU-hour at each supplier, and the cost of failures with three ways to recover.",
    controls: [
      { kind: "text", name: "offer", label: "Offers: NAME=PRICE@GOODPUT, separated by commas", start: "steady=2.40@0.96, cheap=1.90@0.75", hint: "a=2.00@0.90" },
      gpus("1024"),
      rate,
      { kind: "slider", name: "identify", label: "Time to identify the failed node", start: "15m", range: lasting(1, 24 * HOUR) },
      { kind: "slider", name: "interval", label: "Checkpoint interval", start: "1h", range: lasting(60, 12 * HOUR) },
      { kind: "slider", name: "start", label: "Time to restart the job", start: "10m", range: lasting(10, 4 * HOUR) },
      { kind: "slider", name: "repair", label: "Time to repair or replace the node", start: "1h", range: lasting(60, 14 * DAY) },
      { kind: "text", name: "days", label: "Days to count failures over", hint: "30", more: true },
      { kind: "text", name: "failover", label: "Failover time of a fault-tolerant job", hint: "1m", more: true },
      { kind: "text", name: "blast", label: "GPUs that wait for the repair", hint: "8", more: true },
      { kind: "text", name: "sla", label: "SLA: UPTIME:CREDIT,…", hint: "99.9%:10%,99%:25%", more: true },
      { kind: "text", name: "down", label: "Downtime of one node", hint: "2h", more: true },
    ],
  },
  {
    name: "cost",
    title: "Cost",
    about: "The cost of one incident in five layers.",
    controls: [
      gpus("1024"),
      { kind: "choice", name: "price", label: "Price of a GPU-hour, dollars", start: "h100", among: ["h100", "b200", "gb300"], other: count(0.1, 20) },
      { kind: "slider", name: "detect", label: "Time to detect", start: "10m", range: lasting(1, 3 * DAY) },
      { kind: "slider", name: "restore", label: "Time until the job ran again", start: "15m", range: lasting(1, 3 * DAY) },
      { kind: "slider", name: "rework", label: "Repeated work", start: "30m", range: lasting(1, 3 * DAY) },
      { kind: "slider", name: "slow", label: "Slowdown, if any", start: "0", range: share },
      { kind: "slider", name: "slow_for", label: "Duration of the slowdown", start: "1h", range: lasting(60, 60 * DAY) },
      { kind: "text", name: "diagnose", label: "Time until the cause was known", hint: "0s", more: true },
      { kind: "text", name: "blast", label: "GPUs that waited for the repair", hint: "0", more: true },
      { kind: "text", name: "repair", label: "How long they waited", hint: "0s", more: true },
      { kind: "text", name: "alternative", label: "Price of another use", hint: "0", more: true },
      { kind: "text", name: "queued", label: "Probability that another job waited", hint: "0", more: true },
      { kind: "text", name: "people", label: "People who worked on it", hint: "0", more: true },
      { kind: "text", name: "hours", label: "Time that each of them spent", hint: "0s", more: true },
      { kind: "text", name: "wage", label: "Dollars per hour of work", hint: "140", more: true },
      { kind: "text", name: "day_value", label: "Value of a day of the schedule", hint: "no default", more: true },
      { kind: "text", name: "float_days", label: "Days of slack in the schedule", hint: "0", more: true },
      { kind: "text", name: "critical", label: "Probability that it is on the critical path", hint: "1", more: true },
    ],
  },
];

/** Current inputs: from the address, otherwise the start values. */
export function asked(question: Question, given: Readonly<Record<string, string>>): Record<string, string> {
  const all = question.controls.map(({ name, start = "" }) => [name, given[name] ?? start] as const);
  const counted = (given["events"] ?? "") !== "" || (given["gpu_years"] ?? "") !== "";
  return Object.fromEntries(all.filter(([name, text]) => text !== "" && !(name === "rate" && counted)));
}

/** As the controller takes it: several offers are several parameters. */
export function query(values: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(values).flatMap(([name, text]) =>
    name === "offer" ? text.split(",").map((one) => [name, one.trim()]) : [[name, text]],
  );
  return new URLSearchParams(pairs.filter(([, text]) => text !== "") as [string, string][]).toString();
}
