import tailwind from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig, loadEnv, type Plugin } from "vite";

/** Address of the Worker that `pnpm demo` starts. */
const worker = "http://127.0.0.1:8787";
/** The emulator serves its files at a port of its own. */
const thisMachine = "http://127.0.0.1:*";

export default defineConfig(({ mode }) => {
  const { VITE_GATEWAY } = loadEnv(mode, import.meta.dirname);
  return {
    plugins: [react(), tailwind(), contentSecurityPolicy(VITE_GATEWAY)],
    server: { proxy: { "/v1": worker, "/gamma": worker } },
  };
});

/** Adds the policy to the built page. The development server needs inline scripts and a socket. */
function contentSecurityPolicy(gateway: string | undefined): Plugin {
  const policy = [
    "default-src 'self'",
    // to save a file, the page fetches it from the gateway's storage
    ["connect-src 'self' https:", thisMachine, gateway && new URL(gateway).origin].filter(Boolean).join(" "),
    `img-src 'self' blob: data: https: ${thisMachine}`,
    `media-src 'self' https: ${thisMachine}`,
    "style-src 'self'",
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  return {
    name: "content-security-policy",
    apply: "build",
    transformIndexHtml: () => [
      {
        tag: "meta",
        attrs: { "http-equiv": "Content-Security-Policy", content: policy },
        injectTo: "head-prepend",
      },
    ],
  };
}
