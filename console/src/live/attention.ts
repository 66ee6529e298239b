/**
 * A browser opens six connections to a server over HTTP/1.1, and every tab's stream holds one: with six tabs nothing else
 * gets through. A hidden tab closes its own.
 */

const AWAY_SECONDS = 10;

interface Follower {
  /** The tab was hidden for a while; a short change of tabs does not count. */
  away(): void;
  /** The tab is visible again, after `away`. */
  back(): void;
}

type Page = Pick<Document, "hidden" | "addEventListener">;

export function followAttention(page: Page, follower: Follower): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let away = false;
  const leave = (): void => {
    away = true;
    follower.away();
  };
  const look = (): void => {
    clearTimeout(timer);
    if (page.hidden) {
      timer = setTimeout(leave, AWAY_SECONDS * 1000);
    } else if (away) {
      away = false;
      follower.back();
    }
  };
  page.addEventListener("visibilitychange", look);
  look(); // a tab may be opened in the background
}
