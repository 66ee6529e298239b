import { expect, test } from "vitest";
import type { Incident } from "../api";
import { priceOf } from "./price";

function incident(bill: object | null, more: object = {}): Incident {
  return { id: "a@1", opened: 1, closed: null, account: bill && { bill }, ...more } as never;
}

test("what was not measured is not known, and never 0", () => {
  const bill = { measured: false, gpu_hours_per_hour: 0, total_so_far: 0, currency: "EUR" };
  expect(priceOf(incident(bill), null)).toEqual({ lost: null, cost: null, currency: "EUR", labour: false });
});

test("a measured 0 is a 0", () => {
  const bill = { measured: true, gpu_hours_per_hour: 0, total_so_far: 0, currency: "USD", layers: [] };
  expect(priceOf(incident(bill), null)).toEqual({ lost: 0, cost: 0, currency: "USD", labour: false });
});

test("without an account the inbox knows, and a closed one its own figures", () => {
  const inbox = { items: [{ key: "incident/a@1", gpus_lost: 8, cost_so_far: 12, currency: "USD" }] } as never;
  expect(priceOf(incident(null), inbox)).toEqual({ lost: 8, cost: 12, currency: "USD", labour: false });
  expect(priceOf(incident(null), null)).toEqual({ lost: null, cost: null, currency: "USD", labour: false });
  expect(priceOf(incident(null, { closed: 2, figures: { cost: 5, currency: "USD" } }), inbox).cost).toBe(5);
});

test("a cost that is people's time alone says so", () => {
  const bill = (compute: number) => ({ measured: true, total_so_far: 255 + compute, layers: [{ name: "direct compute", so_far: compute }, { name: "labour", so_far: 255 }] });
  expect(priceOf(incident(bill(0)), null).labour).toBe(true);
  expect(priceOf(incident(bill(1)), null).labour).toBe(false);
});
