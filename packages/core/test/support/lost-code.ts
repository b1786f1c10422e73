import { vi } from "vitest";

const packages = new URL("../../../", import.meta.url);
const failing = new Set<string>();

/** Makes all modules loadable again. */
export function restoreModules(): void {
  for (const path of failing) vi.doUnmock(path);
  failing.clear();
}

/** Unloads all modules, and makes the import of `modules` fail: `core/src/transport/repeat`. */
export function failImports(...modules: readonly string[]): void {
  vi.resetModules();
  for (const module of modules) {
    const path = decodeURI(new URL(`${module}.ts`, packages).pathname);
    failing.add(path);
    vi.doMock(path, () => {
      throw new TypeError("Failed to fetch dynamically imported module");
    });
  }
}
