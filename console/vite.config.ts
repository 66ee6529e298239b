import { defineConfig, loadEnv, type Plugin } from "vite";

// The page is served from wherever the controller puts it, so every address in it is relative.
/** In the page itself, so that it holds whoever serves it. Not in development, where Vite puts styles in line. */
const CONTENT_SECURITY_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'";

const strictPolicy: Plugin = {
  name: "strict-policy",
  apply: "build",
  transformIndexHtml: () => [
    {
      tag: "meta",
      attrs: { "http-equiv": "Content-Security-Policy", content: CONTENT_SECURITY_POLICY },
      injectTo: "head-prepend",
    },
  ],
};

export default defineConfig(({ mode }) => ({
  base: "./",
  plugins: [strictPolicy],
  esbuild: { jsx: "automatic", jsxImportSource: "preact" },
  build: {
    outDir: "../holdfast/fleet/console/static",
    emptyOutDir: true,
    target: "es2022",
    // A strict Content-Security-Policy allows no inline data and no inline script.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  // `HOLDFAST_URL=http://127.0.0.1:PORT npm run dev`: the page from here, the fleet from a running controller.
  server: { proxy: { "/v1": loadEnv(mode, ".", "HOLDFAST_")["HOLDFAST_URL"] ?? "http://127.0.0.1:9477" } },
}));
