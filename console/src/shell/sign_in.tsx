import { useEffect, useRef, useState } from "preact/hooks";
import { allowsAnonymous, signIn } from "../live/session";

export function SignIn({ reason }: { reason: string }) {
  const field = useRef<HTMLInputElement>(null);
  const [open, setOpen] = useState(false);
  useEffect(() => field.current?.focus(), []);
  useEffect(() => {
    if (reason) void allowsAnonymous().then(setOpen);
  }, [reason]);
  const submit = (event: Event): void => {
    event.preventDefault();
    const token = field.current?.value.trim();
    if (token) signIn(token);
  };
  return (
    <main class="sign-in">
      <form onSubmit={submit}>
        <h2>Sign in</h2>
        {reason && (
          <p class="refused" role="alert">
            The token was refused: {reason}
          </p>
        )}
        <label>
          Token
          <input ref={field} type="password" name="token" autocomplete="off" spellcheck={false} required />
        </label>
        <button type="submit">Sign in</button>
        {open && (
          <button type="button" onClick={() => signIn("")}>
            View without a token
          </button>
        )}
        <p class="hint">
          An administrator creates a token with <code>holdfast token create</code>; a viewer's token is enough to view. It is
          stored until this tab is closed.
        </p>
      </form>
    </main>
  );
}
