/** Dark or light, as the system prefers; the canvas needs the value; style sheets follow by themselves. */

import { signal } from "@preact/signals";
import type { Theme } from "../fleet/signs";

const prefersLight = matchMedia("(prefers-color-scheme: light)");
const current = (): Theme => (prefersLight.matches ? "light" : "dark");

export const theme = signal<Theme>(current());
prefersLight.addEventListener("change", () => (theme.value = current()));
