import { svelte } from "@sveltejs/vite-plugin-svelte";
import vue from "@vitejs/plugin-vue";
import solid from "vite-plugin-solid";

/** Compilers of the frameworks in the guides, for `vitest.config.ts`. Vite compiles React's files. */
export const frameworkPlugins = [
  vue(),
  svelte({ configFile: false }),
  solid({ include: /frameworks-solid.*\.tsx$/ }),
];
