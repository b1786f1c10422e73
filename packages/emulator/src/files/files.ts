import type { EmulatorClock } from "../base/clock.js";
import { deleteOldest } from "../server/bounded.js";
import { cut } from "../server/cut.js";
import type { EndpointOptions } from "../server/endpoint.js";
import type { Exchange } from "../server/exchange.js";
import { createExpiringMap } from "../server/expiring-map.js";
import { hash } from "../server/hash.js";
import { type Bytes, createForbidden, createUnknownId, type HandlerResponse } from "../server/http.js";
import type { EmulatorState } from "../server/state.js";
import { pickColors } from "./color.js";
import { drawBitmap } from "./image.js";
import type { Bitmap, ImageDescription, MediaScript, VideoDescription } from "./media.js";
import { writePNG } from "./png.js";
import { respondWithRange } from "./range.js";
import { sign, verify } from "./signature.js";
// a static import, because a Service Worker lacks dynamic imports
import { writeVideo } from "./video.js";

/** Description of an image or a video. Its bytes are created when the file is fetched. */
export type File = ImageDescription | VideoDescription;

/** Files behind the URLs of responses. */
export interface Files {
  /** Stores a file under `name`. Returns its URL at `origin`, valid until `expiresAt`. */
  readonly publish: (name: string, file: File, at: { origin: string; expiresAt: number }) => string;
  /** Returns what a reference image decides. An image from elsewhere decides only the colors. */
  readonly describeReference: (url: string | undefined) => Reference;
  /** `GET` and `HEAD /files/{name}`. */
  readonly handle: (exchange: Exchange) => Promise<HandlerResponse>;
  readonly clear: () => void;
}

/** Fields of a description that a reference image decides. */
export type Reference = Partial<Pick<ImageDescription, "base" | "colors" | "seed" | "index">>;

/** Options of an endpoint that publishes files. */
export interface FileEndpointOptions extends EndpointOptions {
  readonly files: Files;
}

/** The bytes of a file. */
interface CreatedFile {
  readonly bytes: Bytes;
  readonly type: string;
}

/** Lifetime of a task, and of the URLs of its results. */
export const RESULT_LIFETIME_MS = 24 * 3_600_000;
const MAX_FILES = 5000;
const MAX_CREATED = 4;
const MAX_CAPTION_CHARACTERS = 600;

/** Stores the descriptions of the last 5,000 files, and the bytes of the last four files that were fetched. */
export function createFiles({
  state,
  clock,
  media,
}: {
  readonly state: EmulatorState | undefined;
  readonly clock: EmulatorClock;
  readonly media: MediaScript;
}): Files {
  const files = createExpiringMap<File>({ clock, maxEntries: MAX_FILES, state, name: "files" });
  const created = new Map<string, Promise<CreatedFile>>();
  return { publish, describeReference, handle, clear };

  function publish(name: string, file: File, { origin, expiresAt }: { origin: string; expiresAt: number }) {
    const base = file.base !== undefined && { base: cut(file.base, MAX_CAPTION_CHARACTERS) };
    files.set(name, { ...file, prompt: cut(file.prompt, MAX_CAPTION_CHARACTERS), ...base });
    return `${origin}/files/${name}?${sign(name, expiresAt)}`;
  }

  function describeReference(url: string | undefined): Reference {
    if (url === undefined) return {};
    const [, name = ""] = /\/files\/([^/?#]+)\?/.exec(url) ?? [];
    const file = files.get(name);
    if (!file || "seconds" in file) return { colors: pickColors(url) };
    const { prompt, base = "", seed, index, colors } = file;
    return { base: `${prompt} ${base}`, seed, index, ...(colors && { colors }) };
  }

  async function handle({ param: name, request }: Exchange): Promise<HandlerResponse> {
    const verdict = verify(name, new URL(request.url).searchParams, clock.now());
    if (verdict === "expired") return createForbidden("The address of this file has expired.", "url_expired");
    if (verdict === "wrong")
      return createForbidden("The signature of this address is missing or wrong.", "invalid_signature");
    const file = files.get(name);
    if (!file) return createUnknownId("There is no such file any more.", "file_not_found");
    const { bytes, type } = await getBytes(name, file);
    const headers = { "content-type": type, etag: `"${hash(JSON.stringify(file))}"`, ...UNCHANGING };
    return respondWithRange(bytes, request, headers);
  }

  function getBytes(name: string, file: File): Promise<CreatedFile> {
    const bytes = created.get(name) ?? createFile(file, media);
    created.set(name, bytes);
    // a failed file is created again
    bytes.catch(() => created.delete(name));
    deleteOldest(created, MAX_CREATED);
    return bytes;
  }

  function clear() {
    files.clear();
    created.clear();
  }
}

/** The default of a media script: the prompt is the caption. */
const getPrompt = ({ prompt }: File) => prompt;

async function createFile(
  file: File,
  { image = getPrompt, video = getPrompt }: MediaScript,
): Promise<CreatedFile> {
  const created = await ("seconds" in file ? video(file) : image(file));
  const blob = created instanceof Blob ? created : await encode(file, created);
  const bytes = new Uint8Array(await blob.arrayBuffer());
  return { bytes, type: blob.type || "application/octet-stream" };
}

/** Encodes a file from its pixels, or from the emulator's own image with a caption. */
function encode(file: File, created: Bitmap | string): Blob | Promise<Blob> {
  const bitmap = typeof created === "string" ? drawBitmap({ ...file, prompt: created }) : created;
  return "seconds" in file ? writeVideo(bitmap, file.seconds) : writePNG(bitmap, file.prompt);
}

const UNCHANGING = { "cache-control": "private, max-age=86400, immutable" };
