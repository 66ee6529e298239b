import type { Control } from "./questions";
import { PLACES, at, place, type Range } from "./scale";

interface Held<C = Control> {
  control: C;
  value: string;
  onChange: (text: string) => void;
}

const typed = (event: Event): string => (event.target as HTMLInputElement).value;

function Slider({ range, name, label, value, onChange }: { range: Range; name: string; label: string; value: string; onChange: (text: string) => void }) {
  return (
    <div class="slider">
      <input
        type="range"
        min={0}
        max={PLACES}
        value={place(value, range)}
        aria-label={label}
        aria-valuetext={value}
        onInput={(event) => onChange(at(Number(typed(event)), range))}
      />
      <input type="text" name={name} aria-label={`${label}, typed`} value={value} onInput={(event) => onChange(typed(event))} />
    </div>
  );
}

function Choice({ control, value, onChange }: Held<Extract<Control, { kind: "choice" }>>) {
  const { among, other, label, name } = control;
  const known = among.includes(value);
  return (
    <div class="choice">
      <select aria-label={label} name={name} value={known ? value : "other"} onChange={(event) => onChange(typed(event) === "other" ? "1" : typed(event))}>
        {among.map((one) => (
          <option key={one} value={one}>
            {one}
          </option>
        ))}
        {other && <option value="other">a number</option>}
      </select>
      {!known && other && <Slider range={other} name={`${name} number`} label={`${label}, as a number`} value={value} onChange={onChange} />}
    </div>
  );
}

/** One input field with its label above it. */
export function Field({ control, value, onChange }: Held) {
  const { name, label } = control;
  return (
    <div class="field">
      <span class="name" aria-hidden="true">
        {label}
      </span>
      {control.kind === "slider" && <Slider range={control.range} name={name} label={label} value={value} onChange={onChange} />}
      {control.kind === "choice" && <Choice control={control} value={value} onChange={onChange} />}
      {control.kind === "text" && (
        <input type="text" name={name} aria-label={label} value={value} placeholder={control.hint} onInput={(event) => onChange(typed(event))} />
      )}
      {control.kind === "yes" && (
        <input
          type="checkbox"
          name={name}
          aria-label={label}
          checked={value === "true"}
          onChange={(event) => onChange((event.target as HTMLInputElement).checked ? "true" : "")}
        />
      )}
    </div>
  );
}
