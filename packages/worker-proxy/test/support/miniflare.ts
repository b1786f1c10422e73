import { createRequire } from "node:module";

/** The part of wrangler's own way to run workerd that is used here. */
export interface Miniflare {
  readonly ready: Promise<URL>;
  unsafeGetDirectURL(worker: string): Promise<URL>;
  getR2Bucket(binding: string, worker: string): Promise<{ list(): Promise<{ objects: { key: string }[] }> }>;
  dispose(): Promise<void>;
}

const wrangler = createRequire(createRequire(import.meta.url).resolve("wrangler/package.json"));
const { Miniflare, convertV4MiniflareOptions } = wrangler("miniflare") as {
  Miniflare: new (options: object) => Miniflare;
  convertV4MiniflareOptions(options: object): object;
};

/** Starts Workers in a separate workerd. They accept requests after `ready`. */
export function startMiniflare(options: object): Miniflare {
  return new Miniflare(convertV4MiniflareOptions(options));
}
