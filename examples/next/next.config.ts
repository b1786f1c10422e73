import { fileURLToPath } from "node:url";
import type { NextConfig } from "next";

const config: NextConfig = {
  // the repository's own check has the types of this app
  typescript: { ignoreBuildErrors: true },
  turbopack: { root: fileURLToPath(new URL("../..", import.meta.url)) },
};

export default config;
