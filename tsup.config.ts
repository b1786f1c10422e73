import { defineConfig } from "tsup";

/** One file out for each file in, so that a bundler drops every module that nobody imports. */
export default defineConfig({
  entry: ["src/**/*.ts", "src/**/*.tsx"],
  bundle: false,
  format: "esm",
  target: "es2022",
  platform: "neutral",
  clean: true,
});
