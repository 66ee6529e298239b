import { expect, test } from "vitest";
import { formatSort, found, held, nextSort, parseSort, sorted, type Column } from "./order";

interface Row {
  name: string;
  cost: number | null;
}

const ROWS: Row[] = [
  { name: "n10", cost: 5 },
  { name: "n9", cost: null },
  { name: "n2", cost: 70 },
];
const COLUMNS: Column<Row>[] = [
  { head: "Name", by: (row) => row.name },
  { head: "Cost", by: (row) => row.cost, largestFirst: true },
  { head: "Summary" },
];
const names = (rows: readonly Row[]): string[] => rows.map((row) => row.name);

test("names are sorted as people count, numbers by size, and what is not known stays last", () => {
  expect(names(sorted(ROWS, COLUMNS, { head: "Name", down: false }))).toEqual(["n2", "n9", "n10"]);
  expect(names(sorted(ROWS, COLUMNS, { head: "Cost", down: true }))).toEqual(["n2", "n10", "n9"]);
  expect(names(sorted(ROWS, COLUMNS, { head: "Cost", down: false }))).toEqual(["n10", "n2", "n9"]);
});

test("a column that does not exist or cannot be sorted changes nothing", () => {
  expect(names(sorted(ROWS, COLUMNS, { head: "Summary", down: true }))).toEqual(["n10", "n9", "n2"]);
  expect(names(sorted(ROWS, COLUMNS, parseSort("-Nonsense")))).toEqual(["n10", "n9", "n2"]);
});

test("a head is clicked three times: its first order, the other, none", () => {
  const cost = COLUMNS[1]!;
  const first = nextSort(cost, null);
  expect(formatSort(first)).toBe("-Cost");
  const second = nextSort(cost, first);
  expect(formatSort(second)).toBe("Cost");
  expect(nextSort(cost, second)).toBeNull();
  expect(parseSort(formatSort(first))).toEqual(first);
});

test("every word of a search must be found, whatever its case", () => {
  expect(names(found(ROWS, (row) => `${row.name} pool:Train`, "TRAIN n9"))).toEqual(["n9"]);
  expect(names(found(ROWS, (row) => row.name, "  "))).toEqual(["n10", "n9", "n2"]);
});

test("while one reads, known rows keep their places and new ones come last", () => {
  const before = ["n9", "n2"];
  expect(names(held(ROWS, (row) => row.name, before))).toEqual(["n9", "n2", "n10"]);
  expect(names(held(ROWS.slice(0, 1), (row) => row.name, before))).toEqual(["n10"]);
});
