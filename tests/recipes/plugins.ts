import { svelte } from "@sveltejs/vite-plugin-svelte";
import vue from "@vitejs/plugin-vue";
import solid from "vite-plugin-solid";

/** Compilers of the frameworks whose guides are tested, for `vitest.config.ts`. React's files are left to Vite. */
export const frameworkPlugins = [
  vue(),
  svelte({ configFile: false }),
  solid({ include: /frameworks-solid.*\.tsx$/ }),
];
