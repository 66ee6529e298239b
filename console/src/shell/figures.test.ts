import { expect, test } from "vitest";
import { amount, many } from "./figures";

test.each([[0, "0"], [950, "950"], [1.663e7, "16.6 M"], [5.3e8, "530 M"], [2e12, "2 T"]])("%d of many is %s", (value, shown) => {
  expect(many(value)).toBe(shown);
});

test.each([[0, "0"], [2.33e-8, "< 0.001"], [0.0123, "0.0123"], [1.25, "1.25"], [999.6, "1,000"], [12_345.6, "12,346"]])(
  "an amount of %d is %s",
  (value, shown) => expect(amount(value)).toBe(shown),
);
