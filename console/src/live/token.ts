/** The token is stored until the tab is closed. `#token=...` sets it once and is removed from the address bar. */

const KEY = "holdfast.token";

export function takeToken(): string {
  const handed = /^#token=(.+)$/.exec(location.hash)?.[1];
  if (handed) {
    keepToken(decodeURIComponent(handed));
    history.replaceState(null, "", location.pathname + location.search);
  }
  return sessionStorage.getItem(KEY) ?? "";
}

export function keepToken(token: string): void {
  if (token) sessionStorage.setItem(KEY, token);
  else sessionStorage.removeItem(KEY);
}
