/** The timeline as readable lines: a signal that changed on many subjects of a kind is one line. */

import type { Moment } from "../api";
import { withFigures } from "../shell/figures";
import { measured, nameOf } from "../shell/signals";
import { kindOf } from "./graph";

export interface TimelineLine {
  at: number;
  domain: string;
  words: string;
  /** Number of subjects of the kind. */
  count: number;
}

const MOVED = /^(\S+) ([a-z][a-z0-9_]*)(?:: | went from )(\S+) (?:->|to) (\S+)(?: (?:Hz|Pa|l\/min|°C|W|V|s))?$/;

interface Move {
  subject: string;
  signal: string;
  before: number;
  after: number;
}

function moveOf(text: string): Move | null {
  const [, subject, signal, before, after] = MOVED.exec(text) ?? [];
  const move = { subject: subject ?? "", signal: signal ?? "", before: Number(before), after: Number(after) };
  return signal && Number.isFinite(move.before) && Number.isFinite(move.after) ? move : null;
}

/** "cdu/c2 CDU flow from 240 l/min to 76.4 l/min". */
export function sentence(text: string): string {
  const move = moveOf(text);
  if (move === null) return withFigures(text);
  const { subject, signal, before, after } = move;
  return `${subject} ${nameOf(signal)} from ${measured(signal, before)} to ${measured(signal, after)}`;
}

/** Lines in order of time; equal changes of several subjects are one line with a count. */
export function grouped(moments: readonly Moment[]): TimelineLine[] {
  const groups = new Map<string, Moment[]>();
  for (const moment of moments) {
    const move = moveOf(moment.text);
    const key = move ? `${moment.domain} ${move.signal} ${kindOf(move.subject)}` : `${moment.at} ${moment.text}`;
    const members = groups.get(key);
    if (members) members.push(moment);
    else groups.set(key, [moment]);
  }
  return [...groups.values()]
    .map((members) => {
      const first = members.reduce((one, other) => (other.at < one.at ? other : one));
      return { at: first.at, domain: first.domain, words: sentence(first.text), count: members.length };
    })
    .toSorted((one, other) => one.at - other.at);
}
