/** An inbox that could not be read shows no empty list: that would be wrong. */
export function needsText(read: boolean, trouble: string): string {
  if (trouble) return `The inbox could not be read: ${trouble}`;
  return read ? "Nothing needs an operator." : "Loading …";
}
