/** What every view but the fleet's begins with, and the one table that lists use. */

import type { ComponentChildren } from "preact";
import { open, type View as Name } from "./route";

interface Framed {
  title: ComponentChildren;
  /** What could not be read, and why: "The jobs could not be read: no answer". '' is no trouble. */
  trouble?: string;
  what?: string;
  /** The list this came from. */
  back?: { view: Name; label: string };
  children?: ComponentChildren;
}

export function View({ title, trouble = "", what = "It", back, children }: Framed) {
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

interface Listed {
  heads: readonly string[];
  caption?: string;
  /** On a phone a row is a card: its cells say in `data-head` what they are. */
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
