import { createRequire } from "node:module";

/** The part of wrangler's own way to run workerd that is used here. */
export interface Miniflare {
  readonly ready: Promise<URL>;
  unsafeGetDirectURL(worker: string): Promise<URL>;
  getR2Bucket(binding: string, worker: string): Promise<{ list(): Promise<{ objects: { key: string }[] }> }>;
  _getInternalDurableObjectNamespace(plugin: string, service: string, kind: string): Promise<InternalObjects>;
  dispose(): Promise<void>;
}

interface InternalObjects {
  idFromName(name: string): unknown;
  get(id: unknown): { fetch(url: string, init: object): Promise<unknown> };
}

const wrangler = createRequire(createRequire(import.meta.url).resolve("wrangler/package.json"));
const { Miniflare, convertV4MiniflareOptions, _enableControlEndpoints } = wrangler("miniflare") as {
  Miniflare: new (options: object) => Miniflare;
  _enableControlEndpoints(): void;
  convertV4MiniflareOptions(options: object): object;
};

/** Workers in a workerd of their own; they can be asked once it is `ready`. */
export function startMiniflare(options: object): Miniflare {
  return new Miniflare(convertV4MiniflareOptions(options));
}

/** Allows {@link takeSmallParts} in each workerd that starts from now on. */
export const allowSmallParts = _enableControlEndpoints;

/** Lets a bucket take parts of 50 bytes and more, in place of 5 MiB, as miniflare's own tests do. */
export async function takeSmallParts(miniflare: Miniflare, bucket: string): Promise<void> {
  const objects = await miniflare._getInternalDurableObjectNamespace("r2", "r2:bucket", "R2BucketObject");
  const controlOp = { name: "sqlQuery", args: ["SELECT 1"] };
  const cf = { miniflare: { name: bucket, controlOp } };
  await objects.get(objects.idFromName(bucket)).fetch("http://bucket/", { cf });
}
