import { type Client, ConfigurationError, type RecordStorage } from "@sluice/core";
import { createFingerprint, isClosedRoute, isRecord, parseJSON, requestOnce } from "@sluice/core/extend";
import { addUserPrefix } from "@sluice/stores/extend";
import { getUploader } from "../base.js";

/** Longest data URL that a record has on the server, in characters. */
const LONGEST = 32_768;
/** Time that a stored address has to work to be used again, in milliseconds. */
const VALID_MS = 3_600_000;

/** Replaces the files in records by addresses on the way to the server. */
export interface References {
  /**
   * Returns the record with an address in the place of each data URL of more than 32 kB. Each file is uploaded once.
   *
   * @throws {ConfigurationError} where the client has no `uploads`, or the proxy stores no files
   * @throws the errors of the uploader
   */
  shorten(value: unknown): Promise<unknown>;
  /** True for a record that is sent as it is. */
  isShort(value: unknown): boolean;
  /** Returns the records whose addresses have run out, with new ones. Those without a new one are left out. */
  renewed(records: ReadonlyMap<string, unknown>): Promise<ReadonlyMap<string, unknown>>;
}

/** Creates the references of a page. `local` keeps the address of each file, so that a reload uploads none again. */
export function createReferences(client: Client, local: RecordStorage): References {
  const name = addUserPrefix(client, "remote/files");
  const uploads = new Map<string, Promise<string>>();
  return {
    async shorten(value) {
      const files = [...textsIn(value, isFile)];
      if (files.length === 0) return value;
      const addresses = await Promise.all(files.map(addressOfFile));
      return withTexts(value, new Map(files.map((file, index) => [file, addresses[index] as string])));
    },
    isShort: (value) => textsIn(value, isFile).size === 0,
    async renewed(records) {
      const old = [...records].filter(([, value]) => textsIn(value, hasRunOut).size > 0);
      if (old.length === 0) return new Map();
      const links = old.flatMap(([, value]) => [...textsIn(value, hasRunOut)]);
      const fresh = await Promise.all(
        [...new Set(links)].map(async (link) => [link, await newAddress(client, link)] as const),
      );
      const found = new Map(
        fresh.flatMap(([link, url]) => (url === undefined ? [] : [[link, url] as const])),
      );
      const changed = old.filter(([, value]) => textsIn(value, (text) => found.has(text)).size > 0);
      return new Map(changed.map(([key, value]) => [key, withTexts(value, found)]));
    },
  };

  function addressOfFile(url: string): Promise<string> {
    const key = createFingerprint(url) ?? url;
    const uploading = uploads.get(key) ?? upload(key, url);
    uploads.set(key, uploading);
    uploading.catch(() => uploads.delete(key));
    return uploading;
  }

  async function upload(key: string, url: string): Promise<string> {
    const known = (await local.read(name)).get(key);
    if (isRecord(known) && typeof known.url === "string" && Number(known.until) > Date.now() + VALID_MS)
      return known.url;
    const { upload } = getUploader(client);
    try {
      const stored = await upload(client, blobOf(url));
      await local.write(name, new Map([[key, { url: stored.url, until: stored.expiresAt }]])).catch(() => {});
      return stored.url;
    } catch (error) {
      if (!isClosedRoute(error)) throw error;
      throw new ConfigurationError(
        "a picture or file of more than 32 kB stays on this device: the proxy stores no files; its operator adds `fileStore()` of @sluice/durable, or make it smaller with `fitImage`",
        { cause: error },
      );
    }
  }
}

/** Returns the texts of JSON that `fits` selects. */
function textsIn(value: unknown, fits: (text: string) => boolean, found = new Set<string>()): Set<string> {
  if (typeof value === "string") {
    if (fits(value)) found.add(value);
  } else if (typeof value === "object" && value !== null)
    for (const field of Object.values(value)) textsIn(field, fits, found);
  return found;
}

/** Returns a copy of JSON with other texts in the place of some. */
function withTexts(value: unknown, texts: ReadonlyMap<string, string>): unknown {
  if (typeof value === "string") return texts.get(value) ?? value;
  if (Array.isArray(value)) return value.map((item) => withTexts(item, texts));
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, withTexts(field, texts)]));
}

function isFile(text: string): boolean {
  return text.length > LONGEST && /^data:[\w.+-]+\/[\w.+-]+;base64,/.test(text);
}

function blobOf(url: string): Blob {
  const [head = "", base64 = ""] = url.split(",", 2);
  const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  return new Blob([bytes], { type: /^data:([^;]*)/.exec(head)?.[1] ?? "" });
}

/** An address of `fileStore()`: the id of the upload, the end in base 36, and a mark. */
const LINK = /\/v1\/media\/([\w-]{44})_([0-9a-z]{8,9})_[\w-]{22}$/;

function hasRunOut(text: string): boolean {
  // most texts are none: a conversation has thousands
  if (text.length > 2000 || !text.includes("/v1/media/")) return false;
  const [, , end] = LINK.exec(text) ?? [];
  return end !== undefined && Number.parseInt(end, 36) < Date.now();
}

/** Asks the proxy for a new link; undefined where it has none. */
async function newAddress(client: Client, link: string): Promise<string | undefined> {
  const [, id = ""] = LINK.exec(link) ?? [];
  try {
    return await requestOnce(client, `/v1/uploads/${id}`, {}, async (response) => {
      const text = await response.text();
      const upload = response.ok ? parseJSON(text) : undefined;
      return isRecord(upload) && typeof upload.url === "string" && upload.url !== "" ? upload.url : undefined;
    });
  } catch {
    return undefined;
  }
}
