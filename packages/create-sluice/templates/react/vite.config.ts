import { cloudflare } from "@cloudflare/vite-plugin";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// the Worker of wrangler.jsonc runs beside the page, in development and in production
export default defineConfig({ plugins: [react(), cloudflare()] });
