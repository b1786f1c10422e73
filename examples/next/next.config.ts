import type { NextConfig } from "next";

const config: NextConfig = {
  // the repository's own check has the types of this app
  typescript: { ignoreBuildErrors: true },
  turbopack: { root: new URL("../..", import.meta.url).pathname },
};

export default config;
