declare const process: { readonly env: { readonly NODE_ENV?: string } };

/** Written in full, because bundlers replace this expression. A browser without a bundler has no `process`. */
export function inProduction(): boolean {
  try {
    return process.env.NODE_ENV === "production";
  } catch {
    return false;
  }
}
