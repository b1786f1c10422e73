import type { Keys, Meter, OnJobEvent } from "@sluice/worker-proxy";
import { ensure } from "@sluice/worker-proxy/internal";
import type { ObjectNamespace } from "../objects/object.js";
import type { MediaBucket } from "./bucket.js";
import { type FileType, fileTypes } from "./file-type.js";

/** Options of the archive. */
export interface ArchiveOptions<Env = unknown> {
  /** The time for which a copy is kept, in milliseconds. @default 2_592_000_000: 30 days */
  readonly keepMs?: number;
  /** The largest file, in bytes. @default 524_288_000 */
  readonly maxBytes?: number;
  /**
   * The only hosts that a file is copied from, redirects included: `cdn.example.com`, or `*.example.com` for the names
   * below. A listed host may have a port; `127.0.0.1:8788` and `localhost:8788` may be plain http.
   *
   * @default every https address with a public name and no port
   */
  readonly hosts?: readonly string[] | ((env: Env) => readonly string[] | Promise<readonly string[]>);
  /** The time for one attempt to copy a file, in milliseconds. @default 300_000 */
  readonly copyMs?: number;
  /**
   * The pause after the first attempt that fails, in milliseconds; each further one is four times as long. A file has 5
   * attempts. @default 30_000
   */
  readonly retryMs?: number;
}

/** Options of `mediaStore`. */
export interface MediaStoreOptions<Env = unknown> {
  /** The R2 bucket. It needs no public address. */
  readonly bucket: (env: Env) => MediaBucket | undefined;
  /** The binding to the class that `mediaIndex` made. */
  readonly index: (env: Env) => ObjectNamespace | undefined;
  /** Signs ids and links: at least 32 random characters. Both while it is changed, the one in use first. */
  readonly secret: (env: Env) => Keys | Promise<Keys>;
  /** The largest file, in bytes. @default 104_857_600: the spec's largest reference */
  readonly maxBytes?: number;
  /** The types that are taken. The bytes of a file decide its type, no header and no name. @default all of `FileType` */
  readonly types?: readonly FileType[];
  /** The time for which a file is kept, in milliseconds. @default 86_400_000: a day */
  readonly keepMs?: number;
  /**
   * The time for which a link works at least, in milliseconds; up to twice as long, so that links stay the same for a
   * while and pages can keep what they have loaded. Never longer than the file is kept. @default 86_400_000: a day
   */
  readonly linkMs?: number;
  /** The space of one user, in bytes. @default 1_073_741_824 */
  readonly userBytes?: number;
  /** The number of files of one user. @default 1000 */
  readonly userFiles?: number;
  /**
   * The space of all users together, in bytes; `false` for no bound. Without a bound no request goes to the object that
   * counts for all.
   *
   * @default 10_737_418_240: what R2 stores for nothing
   */
  readonly allBytes?: number | false;
  /**
   * The part of `allBytes` that uploads may take; the rest is for copies, which are paid for.
   *
   * @default half of `allBytes` with `archive`, all of it without
   */
  readonly uploadBytes?: number;
  /** The time for one request to arrive, in milliseconds. @default 900_000 */
  readonly bodyMs?: number;
  /**
   * The time after each part in which the next one must arrive, in milliseconds. Then the upload ends, and gives its
   * space back.
   *
   * @default 600_000: 10 minutes
   */
  readonly unfinishedMs?: number;
  /**
   * Copies the film of each video task, its last frame and each image, once its success was seen, so that they outlive
   * the gateway's links.
   * @default none is copied
   */
  readonly archive?: boolean | ArchiveOptions<Env>;
  /**
   * The meter that pays for uploads and copies: `route` is `media`, and `body` has their `bytes` and `keepMs`.
   * @default none
   */
  readonly meter?: Meter<Env>;
  /**
   * Receives the end of each upload and each copy, and each attempt at a copy that another one follows: `kind` is `upload`
   * or `copy`, `id` that of the file. It is called in the Worker and in the objects of `mediaIndex`.
   *
   * - `upload`: `complete`, `failed`, `stopped` by its user, or `dropped` with the code `upload_unfinished`.
   * - Both: `waiting` with the code `not_deleted`, where the bucket did not delete a file. It counts until `nextAt` at least.
   * - `copy`: `complete`, `waiting` until `nextAt`, `failed`, `stopped`, or `dropped` with the code `too_many_copies`, where
   *   `userFiles` copies of the user are waiting.
   */
  readonly onEvent?: OnJobEvent<Env>;
  /**
   * The address of the proxy, as the gateway reaches it: `https://app.example.com/api`. @default the address of the
   * request
   */
  readonly publicURL?: string;
}

/**
 * Time for which space or a claim is held longer than a request or an attempt can take, so that its end can be noted.
 */
export const MARGIN_MS = 60_000;

/**
 * Returns the time for one part to arrive: after a lost part there is time for another attempt before the upload ends.
 */
export function partMsOf({ bodyMs, unfinishedMs }: Pick<typeof DEFAULTS, "bodyMs" | "unfinishedMs">): number {
  return Math.min(bodyMs, Math.ceil(unfinishedMs / 2));
}

/** Numbers of the options, with their defaults. */
const DEFAULTS = {
  maxBytes: 104_857_600,
  keepMs: 86_400_000,
  linkMs: 86_400_000,
  userBytes: 1_073_741_824,
  userFiles: 1000,
  bodyMs: 900_000,
  unfinishedMs: 600_000,
};

const ALL_BYTES = 10_737_418_240;

/** Numbers of the archive's options, with their defaults. */
const ARCHIVE_DEFAULTS = {
  keepMs: 2_592_000_000,
  maxBytes: 524_288_000,
  copyMs: 300_000,
  retryMs: 30_000,
};

/** Options of the archive with their defaults. */
export type ArchiveSettings<Env> = ArchiveOptions<Env> & typeof ARCHIVE_DEFAULTS;

/** Options with their defaults. */
export type MediaSettings<Env> = Omit<MediaStoreOptions<Env>, "archive" | "allBytes"> &
  typeof DEFAULTS & {
    readonly allBytes: number | false;
    readonly uploadBytes: number;
    readonly types: readonly FileType[];
    readonly archive: ArchiveSettings<Env> | undefined;
  };

/** @throws {TypeError} when an option can't work */
export function checkedSettings<Env>(options: MediaStoreOptions<Env>): MediaSettings<Env> {
  const types = options.types ?? (Object.keys(fileTypes) as FileType[]);
  const known = types.length > 0 && types.every((type) => Object.hasOwn(fileTypes, type));
  ensure(known, `mediaStore: types: give some of ${Object.keys(fileTypes).join(", ")}`);
  const given = options.archive === true ? {} : options.archive || undefined;
  const archive = given && { ...ARCHIVE_DEFAULTS, ...given };
  const { allBytes = ALL_BYTES } = options;
  const mostBytes = allBytes === false ? Number.MAX_SAFE_INTEGER : allBytes;
  const uploadBytes = options.uploadBytes ?? (archive ? Math.ceil(mostBytes / 2) : mostBytes);
  const settings = { ...DEFAULTS, ...options, types, archive, allBytes, uploadBytes };
  checkNumbers("mediaStore", DEFAULTS, settings);
  checkNumbers("mediaStore", { allBytes: 0, uploadBytes: 0 }, { allBytes: mostBytes, uploadBytes });
  if (archive) checkNumbers("mediaStore: archive", ARCHIVE_DEFAULTS, archive);
  return settings;
}

/** @throws {TypeError} when one of the numbers that have a default can't work */
function checkNumbers<Numbers extends object>(subject: string, defaults: Numbers, given: Numbers): void {
  for (const name of Object.keys(defaults) as (keyof Numbers & string)[]) {
    const isCount = Number.isSafeInteger(given[name]) && Number(given[name]) > 0;
    ensure(isCount, `${subject}: ${name}: give a whole number from 1 up`);
  }
}

/** @throws {TypeError} when a secret is missing or short */
export function checkedSecrets(given: unknown): readonly string[] {
  const secrets = [given].flat();
  const areLong = secrets.length > 0 && secrets.every((one) => typeof one === "string" && one.length >= 32);
  ensure(areLong, "mediaStore: secret: give at least 32 random characters; is the secret set?");
  return secrets as string[];
}
