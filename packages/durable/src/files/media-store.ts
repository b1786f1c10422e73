import type {
  AdminOperation,
  AdmittedRequest,
  PluginRoute,
  ProxyOptions,
  ProxyPlugin,
  User,
  UserData,
} from "@sluice/worker-proxy";
import { createProxy, type GatewayProxy } from "@sluice/worker-proxy";
import { readBinding, readOption } from "@sluice/worker-proxy/internal";
import { type ArchivableTask, createArchive } from "../archive/archive.js";
import { hostsOf } from "../archive/copy.js";
import { createArchiveLinks } from "../archive/links.js";
import { createGates, type FileRequest, type FileRoute } from "./gates.js";
import { linksOf } from "./links.js";
import { checkedSecrets, checkedSettings, type MediaStoreOptions } from "./options.js";
import { allowLinks, checkLinks } from "./references.js";
import { serveFile } from "./serve-file.js";
import { openSpace } from "./space.js";
import { createUploads } from "./uploads.js";
import { createFileList, createUserFiles, type FilePage } from "./user-files.js";

/** Files beside a proxy. */
export interface MediaStore<Env = unknown> {
  /**
   * Creates a proxy as `createProxy` does, with the paths of files behind the same `origins`, `authenticate` and
   * `rateLimit`. A link to a file passes the gate of media in a request of its owner alone.
   *
   * @throws {TypeError} when an option is missing or can't work; the message says what to give
   */
  proxy(options: ProxyOptions<Env>): GatewayProxy<Env>;
  /**
   * Has the film of a task copied for its user, and its last frame where it has one. Each is copied once, however often
   * this is called: for code that sees the end of a task elsewhere than in a poll through the proxy. Resolves when that
   * is noted; the copy follows. Does nothing without `archive`, and for a task without a film.
   *
   * @throws {Refusal} 503 where the index fails
   */
  archiveTask(env: Env, user: Pick<User, "id">, task: ArchivableTask): Promise<void>;
  /**
   * Returns up to 100 files of a user, those that are not whole, too, in the order of their ids.
   *
   * @param cursor `next` of the page before. @default the first page
   * @throws {Refusal} 503 where the index fails
   */
  list(env: Env, userId: string, cursor?: string): Promise<FilePage>;
  /**
   * Deletes a file, an upload that is under way or a copy. Returns false where the user has none with this id.
   *
   * @throws {Refusal} 503 where the index or the bucket fails; the file is then deleted later
   */
  remove(env: Env, userId: string, id: string): Promise<boolean>;
  /** Access to all files, uploads and copies of a user, those that wait, too, and to their bytes in the bucket. */
  readonly userData: UserData<Env>;
  /** An operator's `files/list` and `files/remove`, for `admin(…)`. */
  readonly operations: readonly AdminOperation<Env>[];
}

/**
 * Stores files in R2, and gives them to the gateway and to the page by signed links that expire.
 *
 * - `POST /v1/uploads` takes the bytes of a file, or with `upload-length` the first part of a longer one.
 * - `PATCH /v1/uploads/{id}` takes the next part, at `upload-offset`.
 * - `GET /v1/uploads` lists the files of the user who asks, `GET /v1/uploads/{id}` reports how far an upload is, and gives a new link. `DELETE` removes the file.
 * - `GET /v1/media/{id}` is a link: the file, or a range of it, for everyone who has the link.
 * - `POST /v1/archive` gives new links to copies of the gateway's files, with `archive`.
 *
 * @throws {TypeError} when an option can't work; the message says what to give
 * @example
 * ```ts
 * const media: MediaStoreOptions<Env> = {
 *   bucket: (env) => env.MEDIA,
 *   index: (env) => env.MEDIA_INDEX,
 *   secret: (env) => env.PROXY_SECRET,
 *   archive: true,
 * };
 * export const MediaIndex = mediaIndex<Env>(media);
 * const files = mediaStore<Env>(media);
 * export default files.proxy({ ...options, routes: ["videos"] });
 * ```
 */
export function mediaStore<Env = unknown>(options: MediaStoreOptions<Env>): MediaStore<Env> {
  const { bucket, index, secret } = options;
  const settings = checkedSettings(options);
  const bucketOf = (env: Env) => readBinding("mediaStore: bucket", bucket, env);
  const indexOf = (env: Env) => readBinding("mediaStore: index", index, env);
  const linksIn = async (env: Env) =>
    linksOf(await readOption("mediaStore: secret", secret, env, checkedSecrets));
  const partsOf = async ({ env }: Pick<FileRequest<Env>, "env">) => ({
    bucket: await bucketOf(env),
    links: await linksIn(env),
    space: openSpace(await indexOf(env), settings),
  });
  const archive = settings.archive && createArchive(partsOf);
  const users = createUserFiles(partsOf);
  return { proxy, archiveTask: async (...task) => await archive?.archiveTask(...task), ...users };

  function proxy(given: ProxyOptions<Env>): GatewayProxy<Env> {
    const { plugins = [] } = given;
    const check = checkLinks<Env>(linksIn, plugins);
    // the users of requests whose answers may have files
    const admittedAs = new WeakMap<Request, AdmittedRequest<Env>>();
    const send: ProxyPlugin<Env>["send"] = (admitted, isMetered) => {
      admittedAs.set(admitted.request, admitted);
      return check(admitted, isMetered);
    };
    const noting = ({ serve, ...route }: PluginRoute<Env>): PluginRoute<Env> => ({
      ...route,
      serve(admitted) {
        admittedAs.set(admitted.request, admitted);
        return serve(admitted);
      },
    });
    const offer = `archive=${settings.archive?.keepMs}`;
    const own = {
      checks: [
        bucketOf,
        indexOf,
        linksIn,
        async (env: Env) => settings.archive && hostsOf(settings.archive, env),
      ],
      userData: users.userData,
      send,
      ...(archive && { offers: { videos: offer, images: offer } }),
    };
    const inner = {
      ...given,
      mediaURLs: allowLinks(given.mediaURLs, options.publicURL),
      plugins: [own, ...plugins.map((other) => ({ ...other, routes: (other.routes ?? []).map(noting) }))],
    };
    const gateway = createProxy<Env>(inner);
    const gates = createGates<Env>(inner, fileRoutes(given));
    return {
      async fetch(request, env, context) {
        const own = await gates(request, env as Env, context);
        if (own) return own;
        const response = await gateway.fetch(request, env, context);
        const admitted = admittedAs.get(request);
        return admitted && archive ? archive.watchAnswer(admitted, response) : response;
      },
    };
  }

  function fileRoutes({ secret: sign }: ProxyOptions<Env>): readonly FileRoute<Env>[] {
    const uploads = createUploads(settings, partsOf);
    const serve = async (file: FileRequest<Env>) => serveFile(file, await partsOf(file));
    const secretsOf = async (env: Env) => [(await sign?.(env)) ?? []].flat();
    const { find } = createArchiveLinks(settings, secretsOf, partsOf);
    const list = createFileList(secretsOf, partsOf, uploads.answerOf);
    return [
      { name: "media", method: "GET", path: "/v1/uploads", isPaged: true, take: list },
      { name: "media", method: "POST", path: "/v1/uploads", take: uploads.begin },
      { name: "media", method: "PATCH", path: "/v1/uploads/{id}", take: uploads.goOn },
      { name: "media", method: "GET", path: "/v1/uploads/{id}", take: uploads.read },
      { name: "media", method: "DELETE", path: "/v1/uploads/{id}", take: uploads.remove },
      { name: "media", method: "GET", path: "/v1/media/{id}", take: serve },
      { name: "media", method: "HEAD", path: "/v1/media/{id}", take: serve },
      ...(archive ? [{ name: "media", method: "POST", path: "/v1/archive", take: find } as const] : []),
    ];
  }
}
