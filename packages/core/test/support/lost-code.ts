import { vi } from "vitest";

const packages = new URL("../../../", import.meta.url);
const lost = new Set<string>();

/** Lets all code be loaded again. */
export function restoreModules(): void {
  for (const path of lost) vi.doUnmock(path);
  lost.clear();
}

/** Forgets all modules, and makes some impossible to load from now on: `core/src/transport/repeat`. */
export function lose(...modules: readonly string[]): void {
  vi.resetModules();
  for (const module of modules) {
    const path = decodeURI(new URL(`${module}.ts`, packages).pathname);
    lost.add(path);
    vi.doMock(path, () => {
      throw new TypeError("Failed to fetch dynamically imported module");
    });
  }
}
