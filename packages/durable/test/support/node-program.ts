import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { bundle } from "../../../worker-proxy/test/support/bundle.js";

/** What a Worker is bound to. */
interface Bindings {
  readonly texts: Readonly<Record<string, string>>;
  /** Bindings whose values are JSON. */
  readonly values?: object;
  /** Bindings to objects, with the names of their classes. */
  readonly classes: Readonly<Record<string, string>>;
  /** Folder of the bucket `MEDIA`. @default none */
  readonly files?: string;
}

/**
 * Writes `server.js`, which serves a Worker on Node with its objects in this folder, and says on its third output where, as
 * workerd does.
 */
export async function writeNodeProgram(
  folder: string,
  code: string,
  { texts, values, classes, files }: Bindings,
): Promise<void> {
  const objects = Object.entries(classes).map(([binding, kind]) => `${binding}: worker.${kind}`);
  const media = files === undefined ? "" : `MEDIA: folderBucket(${JSON.stringify(files)})`;
  const program = `import { writeSync } from "node:fs";
import { folderBucket, openObjects, serve } from "./host.js";
import * as worker from "./worker.js";
const given = { ...${JSON.stringify({ ...texts, ...values })}, ${media} };
const { env } = openObjects({ file: "objects.db", env: given, objects: { ${objects} } });
const context = { waitUntil: (work) => void work.catch(() => {}) };
const { url } = await serve({ fetch: (request) => worker.default.fetch(request, env, context) }, { port: 0 });
writeSync(3, JSON.stringify({ event: "listen", port: new URL(url).port }) + "\\n");`;
  await writeFile(join(folder, "package.json"), '{ "type": "module" }');
  await writeFile(join(folder, "worker.js"), code);
  await writeFile(join(folder, "host.js"), await bundle("durable/test/fixture/node-host.ts"));
  await writeFile(join(folder, "server.js"), program);
}
