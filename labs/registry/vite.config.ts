import tailwind from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

/** The emulator: `sluice-emulator --port 8788 --key sk-test`. In an app, its server adds the key. */
const gateway = { target: "http://127.0.0.1:8788", headers: { authorization: "Bearer sk-test" } };

export default defineConfig({
  plugins: [react(), tailwind()],
  resolve: { alias: { "@": import.meta.dirname } },
  server: { proxy: { "/v1": gateway, "/gamma": gateway } },
});
