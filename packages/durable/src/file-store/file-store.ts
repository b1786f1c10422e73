import type { ProxyPlugin } from "@sluice/worker-proxy";
import { type AdmittedRequest, definePlugin, type PluginRoute } from "@sluice/worker-proxy/plugin";

import { addResultHandler } from "../shared/result-handlers.js";
import { createArchive } from "./archive/archive.js";
import { createArchiveLinks } from "./archive/archive-links.js";
import { addCopies, beginCopy } from "./archive/copies.js";
import { createCopyJob } from "./archive/copy-job.js";
import { checkLinks, isLinkAddress } from "./files/links.js";
import { checkOptions, type FileStoreOptions, readHosts } from "./files/options.js";
import {
  createSweep,
  endAttempt,
  endRemoval,
  eraseFiles,
  markDueFiles,
  removeFile,
} from "./files/removal.js";
import { serveFile } from "./files/serve-file.js";
import { createStore, type Store } from "./files/store.js";
import { addPart, beginUpload, claimPart, completeFile, reserve } from "./files/storing-operations.js";
import { FILE_TABLES, findFiles, readFile, readPage, readParts } from "./files/tables.js";
import { createUploads } from "./files/uploads.js";
import { createFileList, createUserFiles } from "./files/user-files.js";

/**
 * Stores files of users in a bucket. The gateway and the page read them through signed links that expire.
 *
 * - `POST /v1/uploads` accepts a file of up to 8 MiB, or with `upload-length` the first 8 MiB of a longer file.
 * - `PATCH /v1/uploads/{id}` accepts the next part, at `upload-offset`.
 * - `GET /v1/uploads` lists the files of the user. `GET /v1/uploads/{id}` returns the progress of an upload and a new
 *   link. `DELETE` removes the file.
 * - `GET /v1/media/{id}` serves the file, or a range of it, to everyone who has the link.
 * - `POST /v1/archive` returns new links to copies of the gateway's files, with `archive`.
 *
 * Its `onEvent` events have the job `upload` or `archive`, and the id of the file:
 *
 * - `upload`: `complete`, `error`, `stopped` by its user, or `dropped` with the code `upload_unfinished`.
 * - `archive`: `complete`, `retrying` at `nextAt`, `error`, `stopped`, or `dropped` with the code `too_many_copies` if
 *   `maxFilesPerUser` copies of the user are already waiting.
 * - Both: `retrying` with the code `not_deleted` if the bucket did not delete a file. The file uses space until `nextAt`
 *   or longer.
 *
 * @throws {TypeError} when an option is missing, unknown or invalid; the message says how to fix it
 * @example
 * ```ts
 * export default createProxy<Env>({
 *   ...options,
 *   host: cloudflareHost((env) => env.SLUICE),
 *   plugins: [fileStore({ bucket: (env) => env.MEDIA, secret: (env) => env.PROXY_SECRET, archive: true })],
 * });
 * ```
 */
export function fileStore<Env = unknown>(options: FileStoreOptions<Env>): ProxyPlugin<Env> {
  const settings = checkOptions(options);
  const { archive, publicURL } = settings;
  const store = createStore(settings);
  const { queueTaskFiles, queueResponseFiles } = createArchive(store);
  const archiveFeature = `archive=${archive?.retentionMs}`;
  const plugin: ProxyPlugin<Env> = definePlugin({
    storage: {
      tables: FILE_TABLES,
      operations: OPERATIONS,
      jobs: [createSweep(store), createCopyJob(store)],
    },
    connect: (server) => store.connect(server),
    checks: [store.readBucket, store.readLinks, (env) => archive && readHosts(archive, env)],
    routes: createRoutes(store),
    allowsMediaURL: (url) => isLinkAddress(url, publicURL),
    checkRequest: (admitted) => checkLinks(admitted, store.readLinks),
    ...createUserFiles(store),
    ...(archive && {
      features: { videos: archiveFeature, images: archiveFeature },
      responded: async (admitted: AdmittedRequest<Env>, json: unknown) => queueResponseFiles(admitted, json),
    }),
  });
  if (archive) addResultHandler(plugin, queueTaskFiles);
  return plugin;
}

const OPERATIONS = [
  ...[reserve, beginUpload, claimPart, addPart, completeFile],
  ...[removeFile, endAttempt, markDueFiles, endRemoval, eraseFiles],
  ...[readFile, readParts, readPage, findFiles],
  ...[addCopies, beginCopy],
];

/** Creates the routes of files. Their bodies are raw bytes, and links need no sign-in. */
function createRoutes<Env>(store: Store<Env>): readonly PluginRoute<Env>[] {
  const uploads = createUploads(store);
  const serve = async (admitted: AdmittedRequest<Env>) =>
    serveFile(admitted, {
      bucket: await store.readBucket(admitted.env),
      links: await store.readLinks(admitted.env),
    });
  const route = { name: "media", id: "own", isRaw: true } as const;
  const fileRoute = { ...route, path: "/v1/uploads/{id}" };
  const linkRoute = { ...route, path: "/v1/media/{id}", isPublic: true };
  const archiveRoute = {
    ...route,
    method: "POST",
    path: "/v1/archive",
    serve: createArchiveLinks(store),
  } as const;
  return [
    { ...route, method: "GET", path: "/v1/uploads", query: ["cursor"], serve: createFileList(store) },
    { ...route, method: "POST", path: "/v1/uploads", serve: uploads.begin },
    { ...fileRoute, method: "PATCH", serve: uploads.continueUpload },
    { ...fileRoute, method: "GET", serve: uploads.read },
    { ...fileRoute, method: "DELETE", serve: uploads.remove },
    { ...linkRoute, method: "GET", serve },
    { ...linkRoute, method: "HEAD", serve },
    ...(store.settings.archive ? [archiveRoute] : []),
  ];
}
