/** A package that only the weekly run installs (`scripts/newest.ts`); undefined where it is absent. */
export async function newest<Module>(name: string): Promise<Module | undefined> {
  try {
    return (await import(/* @vite-ignore */ name)) as Module;
  } catch (error) {
    // any other failure is the package's own
    if (/cannot find (module|package)|failed to resolve|could not resolve/i.test(String(error)))
      return undefined;
    throw error;
  }
}
