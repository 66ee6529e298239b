import { expect, test } from "vitest";
import { amount, many, money, percent, withFigures } from "./figures";

test.each([[0, "0"], [950, "950"], [1.663e7, "16.6 M"], [5.3e8, "530 M"], [2e12, "2 T"]])("%d of many is %s", (value, shown) => {
  expect(many(value)).toBe(shown);
});

test.each([[0, "0"], [2.33e-8, "< 0.001"], [0.0123, "0.0123"], [1.25, "1.25"], [999.6, "1,000"], [12_345.6, "12,346"]])(
  "an amount of %d is %s",
  (value, shown) => expect(amount(value)).toBe(shown),
);

test.each([[0.788, "78.8 %"], [0.75, "75 %"], [1, "100 %"], [0.004, "0.4 %"], [null, "unknown"]])("a share of %d is %s", (share, shown) => {
  expect(percent(share)).toBe(shown);
});

test.each([[0, "0 USD"], [-0.001, "0 USD"], [0.004, "0 USD"], [0.006, "0.01 USD"], [16.234, "16.23 USD"], [14_207.3, "14,207 USD"]])("%d of money is %s", (value, shown) => {
  expect(money(value)).toBe(shown);
});

test("a sentence of the controller is written as ours are", () => {
  expect(withFigures("went from 1.505e+05 to 1.539e+04 Pa, 83% below")).toBe("went from 150,500 to 15,390 Pa, 83 % below");
});
