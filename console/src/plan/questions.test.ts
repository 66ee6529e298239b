import { expect, test } from "vitest";
import { QUESTIONS, asked, query } from "./questions";

const find = (name: string) => QUESTIONS.find((one) => one.name === name)!;

test("what the address says goes before where the page starts", () => {
  expect(asked(find("risk"), { gpus: "64" })).toEqual({ gpus: "64", days: "30", rate: "llama3" });
});

test("own counts take the place of a public rate", () => {
  expect(asked(find("risk"), { events: "3", gpu_years: "40" })).toEqual({ gpus: "1024", days: "30", events: "3", gpu_years: "40" });
});

test("several offers are several parameters", () => {
  expect(query({ offer: "a=2.00@0.90, b=1.80@70%", gpus: "8" })).toBe("offer=a%3D2.00%400.90&offer=b%3D1.80%4070%25&gpus=8");
});
