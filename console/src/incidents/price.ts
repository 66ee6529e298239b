import type { Bill, Incident, InboxView } from "../api";

export interface Price {
  /** GPUs whose work is lost now; null: not known. */
  lost: number | null;
  /** So far; null: not known. */
  cost: number | null;
  currency: string;
  /** The whole cost is labour: no GPU-hour is lost. */
  labour: boolean;
}

function isLabour(bill: Bill): boolean {
  const labour = bill.layers.find(({ name }) => name === "labour")?.so_far ?? 0;
  return labour > 0 && labour === bill.total_so_far;
}

/** The price of an incident without an account, from the inbox. Unmeasured values are unknown, never 0. */
export function priceOf(one: Incident, inbox: InboxView | null): Price {
  const bill = one.account?.bill;
  if (bill?.measured === false) return { lost: null, cost: null, currency: bill.currency ?? "USD", labour: false };
  if (bill) return { lost: bill.gpu_hours_per_hour ?? null, cost: bill.total_so_far ?? null, currency: bill.currency ?? "USD", labour: isLabour(bill) };
  if (one.closed && one.figures) return { lost: null, cost: one.figures.cost ?? null, currency: one.figures.currency, labour: false };
  const item = inbox?.items.find(({ key }) => key === `incident/${one.id}`);
  return { lost: item?.gpus_lost ?? null, cost: item?.cost_so_far ?? null, currency: item?.currency ?? "USD", labour: false };
}
