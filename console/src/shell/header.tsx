import { Nav } from "./nav";
import { connection, fleet, session, signOut, type Connection } from "../live/session";
import { paletteOpen } from "../palette/palette";
import { open } from "./route";
import { switchTheme, theme } from "./theme";

const WORDS: Record<Connection["kind"], string> = {
  connecting: "Connecting",
  live: "Live",
  lost: "Connection lost",
  "signed-out": "Signed out",
};

export function Header() {
  const view = fleet.value;
  const { kind } = connection.value;
  const who = session.value;
  return (
    <header>
      <h1>Holdfast</h1>
      {kind !== "signed-out" && <Nav />}
      {view?.demo && (
        <span class="badge" title="These nodes are simulated. Every time, duration, rate and cost on this page is in simulated time, which runs faster than real time.">
          Demo{view.time_factor !== 1 && ` × ${view.time_factor}, simulated time`}
        </span>
      )}
      {view?.dry_run && (
        <span class="badge" title="Actions are decided and recorded, and not carried out">
          Dry run
        </span>
      )}
      <span class="spacer" />
      <span class={`connection ${kind}`} role="status">
        {WORDS[kind]}
      </span>
      <button type="button" class="quiet" aria-keyshortcuts="Control+K" title="Go to a node, incident, item or view" onClick={() => (paletteOpen.value = true)}>
        Go to <kbd aria-hidden="true">Ctrl K</kbd>
      </button>
      <button type="button" class="quiet" onClick={switchTheme} aria-label={`Switch to the ${theme.value === "dark" ? "light" : "dark"} theme`}>
        {theme.value === "dark" ? "☀" : "☾"}
      </button>
      {who?.signed_in ? (
        <>
          <span class="faint" title={`Role: ${who.role}`}>
            {who.name}
          </span>
          <button type="button" class="quiet" onClick={() => void signOut()}>
            Sign out
          </button>
        </>
      ) : (
        kind !== "signed-out" && (
          <button type="button" onClick={() => open("sign-in")}>
            Sign in
          </button>
        )
      )}
    </header>
  );
}
