import { createEmulator } from "@sluice/emulator";
import { serve } from "@sluice/emulator/serve";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

export default defineConfig({ plugins: [react(), gateway()] });

/**
 * In development the gateway's emulator runs beside the page, and Vite's proxy adds the key. In production a Worker
 * does that: see examples/worker. GATEWAY_URL and GATEWAY_API_KEY lead to a real gateway.
 */
function gateway(): Plugin {
  return {
    name: "gateway",
    apply: "serve",
    async config() {
      const key = process.env["GATEWAY_API_KEY"] ?? "sk-emulator";
      const target =
        process.env["GATEWAY_URL"] ?? (await serve(createEmulator({ apiKeys: [key] }), { port: 0 })).url;
      return {
        server: {
          proxy: { "/v1": { target, changeOrigin: true, headers: { authorization: `Bearer ${key}` } } },
        },
      };
    },
  };
}
