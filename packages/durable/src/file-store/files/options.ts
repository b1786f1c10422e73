import type { Keys } from "@sluice/worker-proxy";
import { ensure, readOption } from "@sluice/worker-proxy/plugin";
import type { Bucket } from "../../buckets/bucket.js";
import { checkMilliseconds, checkNames, checkWhole } from "../../shared/check-options.js";
import { type FileType, fileTypes } from "./file-type.js";

/** Options of the archive. */
export interface ArchiveOptions<Env = unknown> {
  /** The time for which a copy is stored, in milliseconds. @default 2_592_000_000: 30 days */
  readonly retentionMs?: number;
  /** The largest file, in bytes. @default 524_288_000 */
  readonly maxBytes?: number;
  /**
   * The only hosts that a file is copied from, redirects included: `cdn.example.com`, or `*.example.com` for the names
   * below. A listed host may have a port; `127.0.0.1:8788` and `localhost:8788` may be plain http.
   *
   * @default every https address with a public name and no port
   */
  readonly hosts?: readonly string[] | ((env: Env) => readonly string[] | Promise<readonly string[]>);
}

/** Options of `fileStore`. */
export interface FileStoreOptions<Env = unknown> {
  /** The bucket: a binding to R2, a `folderBucket` or an `s3Bucket`. It needs no public address. */
  readonly bucket: (env: Env) => Bucket | undefined;
  /** Signs ids and links: at least 32 random characters. Both while it is changed, the one in use first. */
  readonly secret: (env: Env) => Keys | Promise<Keys>;
  /** The largest file, in bytes; up to 10,000 parts of 8 MiB. @default 104_857_600: the spec's largest reference */
  readonly maxBytes?: number;
  /** The types that are accepted. The bytes of a file decide its type, no header and no name. @default all of `FileType` */
  readonly types?: readonly FileType[];
  /** The time for which a file is stored, in milliseconds. @default 86_400_000: a day */
  readonly retentionMs?: number;
  /**
   * The shortest time for which a link works, in milliseconds; up to twice as long, so that links stay the same for a while
   * and pages can cache what they have loaded. Never longer than the file is stored. @default 86_400_000: a day
   */
  readonly linkTtlMs?: number;
  /** The space of one user, in bytes. An upload takes its whole size there from its begin. @default 1_073_741_824 */
  readonly maxBytesPerUser?: number;
  /** The number of files of one user. @default 1000 */
  readonly maxFilesPerUser?: number;
  /**
   * The space of all users together, in bytes; `false` for no bound. An upload takes what it has stored, and its next part.
   * With `archive`, uploads may take half of it; the rest is for copies.
   *
   * @default 10_737_418_240: what R2 stores for nothing
   */
  readonly maxBytesTotal?: number | false;
  /**
   * The address of the proxy with its base path, as the gateway reaches it: `https://app.example.com/api`. @default the
   * address of the request
   */
  readonly publicURL?: string;
  /**
   * Copies the video of each task, its last frame and each image, once its success was seen, so that they outlive the
   * gateway's links. @default false
   */
  readonly archive?: boolean | ArchiveOptions<Env>;
}

/** Size of each part of an upload but the last, in bytes: R2 wants at least 5 MiB, and all alike. */
export const PART_BYTES = 8_388_608;
/** Most parts of one upload in R2 and S3. */
const MAX_PARTS = 10_000;

/** Longest time for one request to arrive, in milliseconds. */
export const UPLOAD_MS = 900_000;
/** Time after each part in which the next one must arrive. Then the upload ends, and gives its space back. */
export const UPLOAD_TTL_MS = 600_000;
/** Longest time of one attempt to copy a file, in milliseconds. */
export const COPY_MS = 300_000;
/** Time for which space or a claim is held longer than a request or an attempt can take, so that its end can be stored. */
export const MARGIN_MS = 60_000;

const DEFAULTS = {
  maxBytes: 104_857_600,
  retentionMs: 86_400_000,
  linkTtlMs: 86_400_000,
  maxBytesPerUser: 1_073_741_824,
  maxFilesPerUser: 1000,
};
const MAX_BYTES_TOTAL = 10_737_418_240;
const ARCHIVE_DEFAULTS = { retentionMs: 2_592_000_000, maxBytes: 524_288_000 };

/** Options of the archive with their defaults. */
export type ArchiveSettings<Env> = Pick<ArchiveOptions<Env>, "hosts"> & typeof ARCHIVE_DEFAULTS;

/** Options with their defaults. */
export type FileSettings<Env> = Pick<FileStoreOptions<Env>, "bucket" | "secret" | "publicURL"> &
  typeof DEFAULTS & {
    readonly types: readonly FileType[];
    readonly maxBytesTotal: number | false;
    /** The part of `maxBytesTotal` that uploads may take. */
    readonly maxUploadBytes: number;
    readonly archive: ArchiveSettings<Env> | undefined;
  };

/** @throws {TypeError} for an option that is missing, unknown or can't work; the message says what to give */
export function checkOptions<Env>(options: FileStoreOptions<Env>): FileSettings<Env> {
  const {
    bucket,
    secret,
    publicURL,
    types = Object.keys(fileTypes) as FileType[],
    maxBytesTotal = MAX_BYTES_TOTAL,
  } = options ?? {};
  ensure(typeof bucket === "function", "fileStore: bucket: give a function, (env) => env.MEDIA");
  ensure(typeof secret === "function", "fileStore: secret: give a function, (env) => env.PROXY_SECRET");
  checkNames("fileStore", options, [
    ...Object.keys(DEFAULTS),
    ...["bucket", "secret", "types", "maxBytesTotal", "publicURL", "archive"],
  ]);
  const areTypes =
    Array.isArray(types) && types.length > 0 && types.every((type) => Object.hasOwn(fileTypes, type));
  ensure(areTypes, `fileStore: types: give some of ${Object.keys(fileTypes).join(", ")}`);
  const isURL = publicURL === undefined || /^https?:$/.test(URL.parse(publicURL)?.protocol ?? "");
  ensure(isURL, "fileStore: publicURL: give the address of the proxy, https://app.example.com/api");
  const { archive: given = false } = options;
  const isArchive = typeof given === "boolean" || (typeof given === "object" && given !== null);
  ensure(isArchive, "fileStore: archive: give true, or { retentionMs, maxBytes, hosts }");
  if (typeof given === "object")
    checkNames("archive of fileStore", given, [...Object.keys(ARCHIVE_DEFAULTS), "hosts"]);
  const archive = given ? { ...ARCHIVE_DEFAULTS, ...defined(given === true ? {} : given) } : undefined;
  const settings = { ...DEFAULTS, ...defined(options), types, archive, maxBytesTotal };
  checkNumbers("fileStore", DEFAULTS, settings);
  const isStorable = settings.maxBytes <= MAX_PARTS * PART_BYTES;
  ensure(isStorable, `fileStore: maxBytes: give at most ${MAX_PARTS * PART_BYTES}, which is 10,000 parts`);
  if (maxBytesTotal !== false) checkWhole("fileStore: maxBytesTotal", maxBytesTotal);
  if (archive) checkNumbers("fileStore: archive", ARCHIVE_DEFAULTS, archive);
  const total = maxBytesTotal === false ? Number.MAX_SAFE_INTEGER : maxBytesTotal;
  return { ...settings, maxUploadBytes: archive ? Math.ceil(total / 2) : total };
}

function defined<Options extends object>(options: Options): Options {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Options;
}

/** @throws {TypeError} for a number that has a default and can't work */
function checkNumbers<Numbers extends object>(subject: string, defaults: Numbers, given: Numbers): void {
  for (const name of Object.keys(defaults) as (keyof Numbers & string)[])
    (name.endsWith("Ms") ? checkMilliseconds : checkWhole)(`${subject}: ${name}`, given[name]);
}

/** @throws {TypeError} for a secret that is missing or short */
export function checkSecrets(given: unknown): readonly string[] {
  const secrets = [given].flat();
  const areLong = secrets.length > 0 && secrets.every((one) => typeof one === "string" && one.length >= 32);
  ensure(areLong, "fileStore: secret: give at least 32 random characters; is the secret set?");
  return secrets as string[];
}

/**
 * Reads the hosts that files are copied from; undefined for every public one.
 *
 * @throws {Refusal} 500 `misconfigured` for a list that is missing, or has what is no host
 */
export async function readHosts<Env>({ hosts }: Pick<ArchiveOptions<Env>, "hosts">, env: Env) {
  if (hosts === undefined) return undefined;
  const read = typeof hosts === "function" ? hosts : () => hosts;
  return await readOption("fileStore: archive: hosts", read, env, (list) => {
    // a list that is missing would allow every host
    ensure(Array.isArray(list), "fileStore: archive: hosts: give a list of hosts");
    for (const host of list)
      ensure(
        isHost(host),
        "fileStore: archive: hosts: give hosts alone, cdn.example.com or *.example.com, without https:// and a path",
      );
    return list as readonly string[];
  });
}

/** Returns true for a host as addresses write it: a name or a number, with or without a port. */
function isHost(given: unknown): boolean {
  if (typeof given !== "string") return false;
  const host = given.toLowerCase().replace(/^\*\.(?=.)/, "");
  return !host.includes("*") && URL.parse(`https://${host}`)?.host === host.replace(/:443$/, "");
}
