/** The text of an empty inbox. An inbox that could not be read is not empty, and acknowledged items are mentioned. */
export function needsText(read: boolean, trouble: string, acknowledged = 0): string {
  if (trouble) return `The inbox could not be read: ${trouble}`;
  if (!read) return "Loading …";
  return acknowledged > 0 ? `Nothing new. ${acknowledged === 1 ? "1 item is" : `${acknowledged} items are`} acknowledged: someone works on it.` : "Nothing needs an operator.";
}
