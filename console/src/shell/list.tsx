/** A list that is searched, filtered and sorted; all of it is in the address, so that a view can be shared and saved. */

import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { formatSort, found, held, nextSort, parseSort, sorted, type Column } from "./order";
import { go, route } from "./route";

export interface Choice {
  /** Its name in the address. */
  name: string;
  label: string;
  options: readonly string[];
}

interface Listed<T> {
  rows: readonly T[];
  columns: readonly Column<T>[];
  keyOf: (row: T) => string;
  /** The text that a search reads. */
  text: (row: T) => string;
  choices?: readonly Choice[];
  fits?: (row: T, chosen: Readonly<Record<string, string>>) => boolean;
  /** The name of the rows: incidents, jobs. */
  what: string;
  hint: string;
  render: (row: T) => ComponentChildren;
}

function setAsked(name: string, value: string): void {
  const { [name]: _, ...others } = route.value.asked;
  go({ asked: value ? { ...others, [name]: value } : others });
}

function Controls({ choices, hint, shown, total, what }: { choices: readonly Choice[]; hint: string; shown: number; total: number; what: string }) {
  return (
    <div class="toolbar" role="search">
      <label class="find">
        Search{" "}
        <input id="find" type="search" placeholder={hint} value={route.value.find} onInput={(event) => go({ find: event.currentTarget.value })} />
      </label>
      {choices.map(({ name, label, options }) => (
        <label key={name}>
          {label}{" "}
          <select value={route.value.asked[name] ?? ""} onChange={(event) => setAsked(name, event.currentTarget.value)}>
            <option value="">all</option>
            {options.map((one) => (
              <option key={one} value={one}>
                {one}
              </option>
            ))}
          </select>
        </label>
      ))}
      <output>
        {shown === total ? "" : `${shown.toLocaleString("en")} of `}
        {total.toLocaleString("en")} {total === 1 ? what.replace(/s$/, "") : what}
      </output>
    </div>
  );
}

/** While the pointer or the keyboard focus is in the table, rows keep their places. */
function useReading<T>(rows: readonly T[], keyOf: (row: T) => string, signature: string) {
  const reading = useRef(false);
  const order = useRef<{ signature: string; keys: string[] }>({ signature: "", keys: [] });
  const holds = reading.current && order.current.signature === signature;
  const shown = holds ? held(rows, keyOf, order.current.keys) : [...rows];
  order.current = { signature, keys: shown.map(keyOf) };
  const set = (value: boolean) => () => void (reading.current = value);
  return { shown, handlers: { onMouseEnter: set(true), onMouseLeave: set(false), onFocusCapture: set(true), onBlurCapture: set(false) } };
}

export function List<T>({ rows, columns, keyOf, text, choices = [], fits = () => true, what, hint, render }: Listed<T>) {
  const { find, asked } = route.value;
  const sort = parseSort(asked["sort"] ?? "");
  const chosen = found(rows.filter((row) => fits(row, asked)), text, find);
  const { shown, handlers } = useReading(sorted(chosen, columns, sort), keyOf, JSON.stringify([find, asked]));
  const empty = (): void => go({ find: "", asked: {} });
  return (
    <>
      <Controls choices={choices} hint={hint} shown={shown.length} total={rows.length} what={what} />
      {shown.length === 0 ? (
        <p class="empty">
          None of {rows.length.toLocaleString("en")} {what} matches the search.{" "}
          <button type="button" onClick={empty}>
            Show all
          </button>
        </p>
      ) : (
        <div class="scroll" role="region" aria-label={`List of ${what}`} tabIndex={0} {...handlers}>
          <table class="as-cards">
            <thead>
              <tr>
                {columns.map((column) => (
                  <th key={column.head} scope="col" class={column.number ? "number" : ""} aria-sort={sort?.head === column.head ? (sort.down ? "descending" : "ascending") : undefined}>
                    {column.by ? (
                      <button type="button" class="head" onClick={() => setAsked("sort", formatSort(nextSort(column, sort)))}>
                        {column.head}
                        <span aria-hidden="true">{sort?.head === column.head ? (sort.down ? " ▼" : " ▲") : ""}</span>
                      </button>
                    ) : (
                      column.head
                    )}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>{shown.map(render)}</tbody>
          </table>
        </div>
      )}
    </>
  );
}
