import { existsSync } from "node:fs";

/**
 * Imports a package that only the weekly run installs (`scripts/newest.ts`). Returns undefined without it.
 *
 * @param file the module of the package to import
 */
export async function importNewest<Module>(name: string, file = name): Promise<Module | undefined> {
  const isInstalled = existsSync(`${import.meta.dirname}/../node_modules/${name}`);
  return isInstalled ? ((await import(/* @vite-ignore */ file)) as Module) : undefined;
}
