import { expect, test } from "vitest";
import { HOME, format, parse } from "./route";

test.each([
  HOME,
  { ...HOME, node: "n017", group: "leaf", find: "stage:draining gpu_xid" },
  { ...HOME, node: "<b>a/b?c#d%", group: "pool", find: "&x=1" },
  { ...HOME, view: "incidents" as const, item: "loop/c2 & more" },
  { ...HOME, view: "jobs" as const },
  { ...HOME, view: "plan" as const, item: "price", asked: { offer: "a=2.00@0.90, b=1 & 2", rate: "llama3" } },
])("what is looked at survives the address bar: %j", (route) => {
  expect(parse(format(route))).toEqual(route);
});

test("an address typed by hand with a stray percent sign is taken as it is", () => {
  expect(parse("#/node/50%").node).toBe("50%");
});

test("a view that this page does not know is the fleet", () => {
  expect(parse("#/nowhere/x")).toEqual(HOME);
});
