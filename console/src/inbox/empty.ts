/** Nothing is said of an inbox that was not read: an empty list would be wrong. */
export function needsText(read: boolean, trouble: string): string {
  if (trouble) return `The inbox could not be read: ${trouble}`;
  return read ? "Nothing waits for a person." : "Loading …";
}
