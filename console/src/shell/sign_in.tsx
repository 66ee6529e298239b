import { useEffect, useRef, useState } from "preact/hooks";
import { session, signIn, whyRefused } from "../live/session";
import { format, go, HOME, route } from "./route";

/** Sign-in with a token or by the organisation's identity provider. The session is a cookie that scripts cannot read. */
export function SignIn({ reason, onDone }: { reason: string; onDone?: () => void }) {
  const field = useRef<HTMLInputElement>(null);
  const [trouble, setTrouble] = useState(reason);
  const [waiting, setWaiting] = useState(false);
  useEffect(() => field.current?.focus(), []);
  useEffect(() => setTrouble(reason), [reason]);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    const token = field.current?.value.trim();
    if (!token) return;
    setWaiting(true);
    try {
      await signIn(token);
      onDone?.();
    } catch (error) {
      setTrouble(`The token was refused: ${whyRefused(error)}`);
    } finally {
      setWaiting(false);
    }
  };
  const oidc = session.value?.oidc ?? "";
  const back = route.value.view === "sign-in" ? "" : format(route.value).slice(2);
  return (
    <main class="sign-in">
      <form onSubmit={(event) => void submit(event)}>
        <h2>Sign in</h2>
        {trouble && (
          <p class="refused" role="alert">
            {trouble}
          </p>
        )}
        {oidc && (
          <a class="button primary" href={`v1/session/oidc?back=${encodeURIComponent(back)}`}>
            {oidc}
          </a>
        )}
        <label>
          Token
          <input ref={field} type="password" name="token" autocomplete="off" spellcheck={false} required />
        </label>
        <button type="submit" class={oidc ? "" : "primary"} disabled={waiting}>
          Sign in
        </button>
        {session.value?.open_reading && (
          <button type="button" onClick={() => (onDone ? onDone() : go(HOME))}>
            View without signing in
          </button>
        )}
        <p class="hint">
          An administrator creates a token with <code>holdfast token create</code>; a viewer's token is enough to view. The session
          lasts 12 hours, in a cookie that scripts cannot read.
        </p>
      </form>
    </main>
  );
}

/** The dialog of the button at the top right, which exists even if reading needs no sign-in. */
export function SignInPage() {
  return <SignIn reason={route.value.asked["why"] ?? ""} onDone={() => go(HOME)} />;
}
