/** Numbers as people read them: no powers of ten. */

const short = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });
const three = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });
const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

const LEAST = 0.001;

/** 16.6 M, 1.2 B: what there are very many of. */
export function many(value: number): string {
  return short.format(value).replace(/(?<=\d)(?=[A-Z])/, " ");
}

/** 1.25, 12,345 or < 0.001: hours and days that were spent. */
export function amount(value: number): string {
  if (value > 0 && value < LEAST) return `< ${LEAST}`;
  return (value < 1000 ? three : whole).format(value);
}
