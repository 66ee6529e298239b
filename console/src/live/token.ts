/** The token in the address, `#token=...`; it is removed from the address bar at once. */

export function handedToken(): string {
  const handed = /^#token=(.+)$/.exec(location.hash)?.[1];
  if (!handed) return "";
  history.replaceState(null, "", location.pathname + location.search);
  return decodeURIComponent(handed);
}
