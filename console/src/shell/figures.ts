/** Number formats of all views: no powers of ten, `12 %`, `305 USD`. */

const short = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });
const three = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });
const four = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });
const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const cents = new Intl.NumberFormat("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 });

const LEAST = 0.001;

/** Large counts: 16.6 M, 1.2 B. */
export function many(value: number): string {
  return short.format(value).replace(/(?<=\d)(?=[A-Z])/, " ");
}

/** Hours and days: 1.25, 12,345 or < 0.001. */
export function amount(value: number): string {
  if (value > 0 && value < LEAST) return `< ${LEAST}`;
  return (value < 1000 ? three : whole).format(value);
}

/** Readings of instruments in a suitable unit: 76.4, 1.755, 0.0125. */
export function reading(value: number): string {
  return (Math.abs(value) < 1000 ? four : whole).format(value);
}

/** 78.8 %, 12 %, 0.4 %, 100 %. */
export function percent(share: number | null | undefined): string {
  return share == null ? "unknown" : `${three.format(Number((share * 100).toFixed(1)))} %`;
}

/** Less than half a cent is 0, and never "-0.00". */
export function money(amount: number, currency = "USD"): string {
  const value = Math.abs(amount) < 0.005 ? 0 : amount;
  return `${(Math.abs(value) < 100 && value !== 0 ? cents : whole).format(value)} ${currency}`;
}

/** A sentence of the controller, with its numbers in the page's format. */
export function withFigures(sentence: string): string {
  return sentence.replace(/\d+(\.\d+)?e[+-]\d+/g, (figure) => reading(Number(figure))).replace(/(?<=\d)%/g, " %");
}
