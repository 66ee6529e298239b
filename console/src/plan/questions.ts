/** What each calculator can be asked, in the words of `holdfast plan`; what is left empty takes the controller's default. */

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
const restart: Control = { kind: "slider", name: "restart", label: "From failure to running again", start: "10m", range: lasting(10, 4 * HOUR) };
const own: Control[] = [
  { kind: "text", name: "events", label: "Instead of a rate: failures you saw", hint: "12", more: true },
  { kind: "text", name: "gpu_years", label: "in so many GPU-years", hint: "40", more: true },
];

export const QUESTIONS: readonly Question[] = [
  {
    name: "risk",
    title: "Risk",
    about: "How likely a run meets a failure, and how many.",
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
    about: "How often to write checkpoints, where, and what the run then delivers.",
    controls: [
      gpus("16384"),
      rate,
      { kind: "slider", name: "write", label: "A write stops the run for", start: "30s", range: lasting(0.5, HOUR) },
      restart,
      { kind: "text", name: "interval", label: "Judge this interval beside the best", hint: "30m", more: true },
      { kind: "text", name: "memory_write", label: "A memory tier: a write stops it for", hint: "2s", more: true },
      { kind: "text", name: "memory_restart", label: "Restart from memory", hint: "2m", more: true },
      { kind: "text", name: "memory_survives", label: "Failures that memory outlives", hint: "0.95", more: true },
      { kind: "text", name: "state", label: "Size of a checkpoint", hint: "5TB", more: true },
      { kind: "text", name: "target", label: "What storage to buy for this share", hint: "0.95", more: true },
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
      { kind: "slider", name: "repair", label: "From failure to return", start: "3d", range: lasting(600, 60 * DAY) },
      { kind: "slider", name: "swap", label: "Failures that keep a node away so long", start: "1", range: share },
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
      { kind: "slider", name: "bandwidth", label: "What storage takes", start: "2TB/s", range: { unit: "bandwidth", from: 1e9, to: 1e14, log: true } },
      restart,
      { kind: "choice", name: "network_exponent", label: "Bandwidth grows with GPUs to this power", start: "0", among: ["0", "1/2", "2/3", "1"] },
      { kind: "yes", name: "growing", label: "The model grows with the cluster" },
      { kind: "text", name: "state_gpus", label: "GPUs at which the state has that size", hint: "16384", more: true },
      ...own,
    ],
  },
  {
    name: "price",
    title: "Price",
    about: "What a productive GPU-hour costs at each supplier, and what failures cost under three ways of recovering.",
    controls: [
      { kind: "text", name: "offer", label: "Offers: NAME=PRICE@GOODPUT, with commas", start: "steady=2.40@0.96, cheap=1.90@0.75", hint: "a=2.00@0.90" },
      gpus("1024"),
      rate,
      { kind: "slider", name: "identify", label: "From failure to knowing the node", start: "15m", range: lasting(1, 24 * HOUR) },
      { kind: "slider", name: "interval", label: "Between checkpoints", start: "1h", range: lasting(60, 12 * HOUR) },
      { kind: "slider", name: "start", label: "To start the job again", start: "10m", range: lasting(10, 4 * HOUR) },
      { kind: "slider", name: "repair", label: "To repair or replace the node", start: "1h", range: lasting(60, 14 * DAY) },
      { kind: "text", name: "days", label: "Days over which failures are counted", hint: "30", more: true },
      { kind: "text", name: "failover", label: "Of a job that tolerates failures", hint: "1m", more: true },
      { kind: "text", name: "blast", label: "GPUs that wait for the repair", hint: "8", more: true },
      { kind: "text", name: "sla", label: "The agreement: UPTIME:CREDIT,…", hint: "99.9%:10%,99%:25%", more: true },
      { kind: "text", name: "down", label: "How long one node was down", hint: "2h", more: true },
    ],
  },
  {
    name: "cost",
    title: "Cost",
    about: "What one incident cost, in five layers.",
    controls: [
      gpus("1024"),
      { kind: "choice", name: "price", label: "Price of a GPU-hour, dollars", start: "h100", among: ["h100", "b200", "gb300"], other: count(0.1, 20) },
      { kind: "slider", name: "detect", label: "Until somebody or something noticed", start: "10m", range: lasting(1, 3 * DAY) },
      { kind: "slider", name: "restore", label: "Until the job ran again", start: "15m", range: lasting(1, 3 * DAY) },
      { kind: "slider", name: "rework", label: "Work done twice", start: "30m", range: lasting(1, 3 * DAY) },
      { kind: "slider", name: "slow", label: "How much slower it ran, if it did", start: "0", range: share },
      { kind: "slider", name: "slow_for", label: "For how long", start: "1h", range: lasting(60, 60 * DAY) },
      { kind: "text", name: "diagnose", label: "Until the cause was known", hint: "0s", more: true },
      { kind: "text", name: "blast", label: "GPUs that waited for the repair", hint: "0", more: true },
      { kind: "text", name: "repair", label: "For how long they waited", hint: "0s", more: true },
      { kind: "text", name: "alternative", label: "What another use would have paid", hint: "0", more: true },
      { kind: "text", name: "queued", label: "Chance that another job waited", hint: "0", more: true },
      { kind: "text", name: "people", label: "People who worked on it", hint: "0", more: true },
      { kind: "text", name: "hours", label: "How long each did", hint: "0s", more: true },
      { kind: "text", name: "wage", label: "Dollars per hour of work", hint: "140", more: true },
      { kind: "text", name: "day_value", label: "What a day of the schedule is worth", hint: "nobody else knows", more: true },
      { kind: "text", name: "float_days", label: "Days of slack in the schedule", hint: "0", more: true },
      { kind: "text", name: "critical", label: "Chance that it is on the critical path", hint: "1", more: true },
    ],
  },
];

/** What is asked: the address where it says something, else where the page starts. */
export function asked(question: Question, said: Readonly<Record<string, string>>): Record<string, string> {
  const all = question.controls.map(({ name, start = "" }) => [name, said[name] ?? start] as const);
  const counted = (said["events"] ?? "") !== "" || (said["gpu_years"] ?? "") !== "";
  return Object.fromEntries(all.filter(([name, text]) => text !== "" && !(name === "rate" && counted)));
}

/** As the controller takes it: several offers are several parameters. */
export function query(values: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(values).flatMap(([name, text]) =>
    name === "offer" ? text.split(",").map((one) => [name, one.trim()]) : [[name, text]],
  );
  return new URLSearchParams(pairs.filter(([, text]) => text !== "") as [string, string][]).toString();
}
