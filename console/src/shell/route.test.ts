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

test.each(["nowhere", "nowhere/x", "missing", "node", "fleet/x"])("an address that this page does not know is no other page: %s", (path) => {
  expect(parse(`#/${path}`)).toEqual({ ...HOME, view: "missing", item: path });
  expect(format(parse(`#/${path}`))).toBe(`#/${path}`);
});

test.each(["", "#", "#/", "#/fleet", "#/?find=a", "#token=s3cret"])("no address is the home page: %s", (hash) => {
  expect(parse(hash).view).toBe("fleet");
});

test("an id with slashes may be typed as it is", () => {
  expect(parse("#/incidents/leaf/leaf2@12.5").item).toBe("leaf/leaf2@12.5");
});
