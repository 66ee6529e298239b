import { expect, test } from "vitest";
import { needsText } from "./empty";

test("only an inbox that was read can be empty", () => {
  expect(needsText(false, "")).toBe("Loading …");
  expect(needsText(true, "")).toBe("Nothing needs an operator.");
  expect(needsText(true, "", 1)).toBe("Nothing new. 1 item is acknowledged: someone works on it.");
  expect(needsText(false, "", 1)).toBe("Loading …");
  expect(needsText(true, "no answer")).toContain("could not be read: no answer");
});
