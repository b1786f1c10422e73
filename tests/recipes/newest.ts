import { existsSync } from "node:fs";

/**
 * A package that only the weekly run installs (`scripts/newest.ts`); undefined where it is absent.
 *
 * @param file the module of the package to import
 */
export async function newest<Module>(name: string, file = name): Promise<Module | undefined> {
  const isInstalled = existsSync(`${import.meta.dirname}/../node_modules/${name}`);
  return isInstalled ? ((await import(/* @vite-ignore */ file)) as Module) : undefined;
}
