import { expect, test } from "vitest";
import { format, parse } from "./route";

test.each([
  { node: "", group: "rack", find: "" },
  { node: "n017", group: "leaf", find: "stage:draining gpu_xid" },
  { node: "<b>a/b?c#d%", group: "pool", find: "&x=1" },
])("what is looked at survives the address bar: %j", (route) => {
  expect(parse(format(route))).toEqual(route);
});

test("an address typed by hand with a stray percent sign is taken as it is", () => {
  expect(parse("#/node/50%").node).toBe("50%");
});
