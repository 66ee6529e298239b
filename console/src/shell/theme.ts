/** Dark or light: the system's preference, unless the user chose one. */

import { effect, signal } from "@preact/signals";
import type { Theme } from "../fleet/signs";

const KEY = "holdfast.theme";
const prefersLight = matchMedia("(prefers-color-scheme: light)");
const system = (): Theme => (prefersLight.matches ? "light" : "dark");

function stored(): Theme | null {
  const value = localStorage.getItem(KEY);
  return value === "dark" || value === "light" ? value : null;
}

const chosen = signal<Theme | null>(stored());
export const theme = signal<Theme>(chosen.value ?? system());

prefersLight.addEventListener("change", () => (theme.value = chosen.value ?? system()));
effect(() => {
  document.documentElement.dataset["theme"] = theme.value;
});

export function switchTheme(): void {
  chosen.value = theme.value === "dark" ? "light" : "dark";
  theme.value = chosen.value;
  localStorage.setItem(KEY, chosen.value);
}
