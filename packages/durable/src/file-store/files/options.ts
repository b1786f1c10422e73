import { ensure, readOption } from "@sluice/worker-proxy/plugin";
import type { Bucket } from "../../buckets/bucket.js";
import { checkMilliseconds, checkNames, checkWhole } from "../../shared/check-options.js";

/** Options of the archive. */
export interface ArchiveOptions<Env = unknown> {
  /** Time for which a copy is stored, in milliseconds. @default 2_592_000_000: 30 days */
  readonly retentionMs?: number;
  /** Maximum size of a copied file, in bytes. @default 524_288_000 */
  readonly maxBytes?: number;
  /**
   * The allowed hosts for copies, including redirects: `cdn.example.com`, or `*.example.com` for subdomains. A listed
   * host may have a port. Listed loopback hosts, such as `127.0.0.1:8788` and `localhost:8788`, may use plain http.
   *
   * @default every https URL with a public name and without a port
   */
  readonly hosts?: readonly string[] | ((env: Env) => readonly string[] | Promise<readonly string[]>);
}

/** Options of `fileStore`. */
export interface FileStoreOptions<Env = unknown> {
  /** The bucket: a binding to R2, a `folderBucket` or an `s3Bucket`. It needs no public access. */
  readonly bucket: (env: Env) => Bucket | undefined;
  /**
   * Signs ids and links: at least 32 random characters. During a rotation, return both secrets. The first secret signs,
   * and both verify.
   */
  readonly secret: (
    env: Env,
  ) => string | undefined | readonly string[] | Promise<string | undefined | readonly string[]>;
  /**
   * Maximum size of a file, in bytes; up to 10,000 parts of 8 MiB.
   *
   * @default 104_857_600: the spec's largest reference
   */
  readonly maxBytes?: number;
  /** Time for which a file is stored, in milliseconds. @default 86_400_000: a day */
  readonly retentionMs?: number;
  /**
   * Minimum lifetime of a link, in milliseconds. A link can last up to twice as long: it stays the same for a while, so
   * that pages can cache the file. A link never outlives its file.
   *
   * @default 86_400_000: a day
   */
  readonly linkTtlMs?: number;
  /** Space of one user, in bytes. An upload uses its whole size from its start. @default 1_073_741_824 */
  readonly maxBytesPerUser?: number;
  /** Maximum number of files of one user. @default 1000 */
  readonly maxFilesPerUser?: number;
  /**
   * URL of the proxy with its base path, as the gateway reaches it: `https://app.example.com/api`.
   *
   * @default the URL of the request
   */
  readonly publicURL?: string;
  /**
   * Copies the video of each task, its last frame and each image after their success, so that they outlive the
   * gateway's links. @default false
   */
  readonly archive?: boolean | ArchiveOptions<Env>;
}

/** Size of each part of an upload except the last, in bytes. R2 requires at least 5 MiB and equal sizes. */
export const PART_BYTES = 8_388_608;
/** Maximum number of parts of one upload in R2 and S3. */
const MAX_PARTS = 10_000;

/** Timeout of one upload request and of one attempt to copy a file, in milliseconds. */
export const STORE_MS = 300_000;
/** Lifetime of a claim, in milliseconds: the timeout, and time to store its end. */
export const ATTEMPT_MS = STORE_MS + 60_000;
/**
 * Time after each part until the next part must arrive, in milliseconds: time for two requests. After it, the upload
 * ends and frees its space.
 */
export const UPLOAD_TTL_MS = 2 * STORE_MS;

const DEFAULTS = {
  maxBytes: 104_857_600,
  retentionMs: 86_400_000,
  linkTtlMs: 86_400_000,
  maxBytesPerUser: 1_073_741_824,
  maxFilesPerUser: 1000,
};
const ARCHIVE_DEFAULTS = { retentionMs: 2_592_000_000, maxBytes: 524_288_000 };

export type ArchiveSettings<Env> = Pick<ArchiveOptions<Env>, "hosts"> & typeof ARCHIVE_DEFAULTS;

export type FileSettings<Env> = Pick<FileStoreOptions<Env>, "bucket" | "secret"> &
  typeof DEFAULTS & {
    readonly publicURL: string | undefined;
    readonly archive: ArchiveSettings<Env> | undefined;
  };

/** @throws {TypeError} for an option that is missing, unknown or invalid; the message says how to fix it */
export function checkOptions<Env>(options: FileStoreOptions<Env>): FileSettings<Env> {
  const { bucket, secret, publicURL, archive: given = false } = options ?? {};
  ensure(typeof bucket === "function", "fileStore: bucket: give a function, (env) => env.MEDIA");
  ensure(typeof secret === "function", "fileStore: secret: give a function, (env) => env.PROXY_SECRET");
  checkNames("fileStore", options, [...Object.keys(DEFAULTS), "bucket", "secret", "publicURL", "archive"]);
  const isURL = publicURL === undefined || /^https?:$/.test(URL.parse(publicURL)?.protocol ?? "");
  ensure(isURL, "fileStore: publicURL: give the address of the proxy, https://app.example.com/api");
  const numbers = readNumbers("fileStore", DEFAULTS, options);
  const maxStorable = MAX_PARTS * PART_BYTES;
  ensure(
    numbers.maxBytes <= maxStorable,
    `fileStore: maxBytes: give at most ${maxStorable}, which is 10,000 parts`,
  );
  const archive = given === false ? undefined : checkArchive(given === true ? {} : given);
  return { ...numbers, bucket, secret, publicURL, archive };
}

function checkArchive<Env>(options: ArchiveOptions<Env>): ArchiveSettings<Env> {
  const isArchive = typeof options === "object" && options !== null;
  ensure(isArchive, "fileStore: archive: give true, or { retentionMs, maxBytes, hosts }");
  checkNames("archive of fileStore", options, [...Object.keys(ARCHIVE_DEFAULTS), "hosts"]);
  const { hosts } = options;
  return { ...readNumbers("fileStore: archive", ARCHIVE_DEFAULTS, options), ...(hosts && { hosts }) };
}

/** Returns the given numbers, with `defaults` for the rest. @throws {TypeError} for an invalid number */
function readNumbers<Numbers extends object>(
  subject: string,
  defaults: Numbers,
  given: Partial<Numbers>,
): Numbers {
  const readNumber = ([name, fallback]: [string, number]) => {
    const check = name.endsWith("Ms") ? checkMilliseconds : checkWhole;
    return [name, check(`${subject}: ${name}`, given[name as keyof Numbers] ?? fallback)];
  };
  return Object.fromEntries(Object.entries(defaults).map(readNumber)) as Numbers;
}

/** @throws {TypeError} for a secret that is missing or short */
export function checkSecrets(given: unknown): readonly string[] {
  const secrets = [given].flat();
  const areLong =
    secrets.length > 0 && secrets.every((secret) => typeof secret === "string" && secret.length >= 32);
  ensure(areLong, "fileStore: secret: give at least 32 random characters; is the secret set?");
  return secrets as string[];
}

/**
 * Reads the hosts that files may be copied from; undefined allows every public host.
 *
 * @throws {Refusal} 500 `misconfigured` for a missing list or an invalid host
 */
export async function readHosts<Env>({ hosts }: Pick<ArchiveOptions<Env>, "hosts">, env: Env) {
  if (hosts === undefined) return undefined;
  const read = typeof hosts === "function" ? hosts : () => hosts;
  return await readOption("fileStore: archive: hosts", read, env, (list) => {
    // a missing list would allow every host
    ensure(Array.isArray(list), "fileStore: archive: hosts: give a list of hosts");
    for (const host of list)
      ensure(
        isHost(host),
        "fileStore: archive: hosts: give hosts alone, cdn.example.com or *.example.com, without https:// and a path",
      );
    return list as readonly string[];
  });
}

/** Returns true for a host as written in a URL: a name or an IP address, with or without a port. */
function isHost(given: unknown): boolean {
  if (typeof given !== "string") return false;
  const host = given.toLowerCase().replace(/^\*\.(?=.)/, "");
  return !host.includes("*") && URL.parse(`https://${host}`)?.host === host.replace(/:443$/, "");
}
