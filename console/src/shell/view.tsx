/** The head of every view except the fleet's, and the table of all lists. */

import type { ComponentChildren } from "preact";
import { HOME, go, open, type View as Name } from "./route";

interface Framed {
  title: ComponentChildren;
  /** The error: "The jobs could not be read: no answer". '': none. */
  trouble?: string;
  what?: string;
  /** The page for an item that does not exist, with links to existing ones. */
  missing?: boolean;
  /** The list of this item. */
  back?: { view: Name; label: string };
  children?: ComponentChildren;
}

export function View({ title, trouble = "", what = "It", missing = false, back, children }: Framed) {
  if (missing) return <NoSuch what={what} named={title} why={trouble} back={back} />;
  return (
    <main class="view">
      {back && (
        <p>
          <button type="button" class="link" onClick={() => open(back.view)}>
            {back.label}
          </button>
        </p>
      )}
      <h2>{title}</h2>
      {trouble && (
        <p class="trouble" role="alert">
          {what} could not be read: {trouble}
        </p>
      )}
      {children}
    </main>
  );
}

function NoSuch({ what, named, why, back }: { what: string; named: ComponentChildren; why: string; back: Framed["back"] }) {
  return (
    <main class="view">
      <h2>{what.replace(/^The /, "No such ")}</h2>
      <p class="lead">
        <code>{named}</code> is not there: {why}.
      </p>
      <p class="row">
        {back && (
          <button type="button" class="primary" onClick={() => open(back.view)}>
            {back.label}
          </button>
        )}
        <button type="button" onClick={() => go(HOME)}>
          Home
        </button>
      </p>
    </main>
  );
}

interface Listed {
  heads: readonly string[];
  caption?: string;
  /** On a phone a row is a card; its cells have their column in `data-head`. */
  cards?: boolean;
  children: ComponentChildren;
}

export function Table({ heads, caption, cards = false, children }: Listed) {
  return (
    <div class="scroll" role="region" aria-label={caption ?? heads.join(", ")} tabIndex={0}>
      <table class={cards ? "as-cards" : ""}>
        {caption && <caption>{caption}</caption>}
        <thead>
          <tr>
            {heads.map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}
