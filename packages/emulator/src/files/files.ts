import type { EmulatorClock } from "../base/clock.js";
import { cut } from "../server/cut.js";
import type { Exchange } from "../server/exchange.js";
import { createExpiringMap } from "../server/expiring-map.js";
import { hash } from "../server/hash.js";
import { type Answer, type Bytes, forbidden, unknownThing } from "../server/http.js";
import type { EmulatorState } from "../server/state.js";
// imported statically, because a Service Worker has no dynamic import
import { writeFilm } from "./film.js";
import type { ImageDescription, MediaScript, VideoDescription } from "./media.js";
import { bitmapOf } from "./picture.js";
import { writePNG } from "./png.js";
import { rangeOf } from "./range.js";
import { sign, verify } from "./signature.js";

/** A file: an image or a video, made when it is fetched. */
export type File = ImageDescription | VideoDescription;

/** Files whose URLs are in answers. */
export interface Files {
  /** Keeps a file under `name`, and returns its URL at `origin`, which is valid until `expiresAt`. */
  readonly publish: (name: string, file: File, at: { origin: string; expiresAt: number }) => string;
  /** Finds the image behind a URL that `publish` has returned. */
  readonly imageAt: (url: string) => ImageDescription | undefined;
  /** `GET` and `HEAD /files/{name}`. */
  readonly answer: (exchange: Exchange) => Promise<Answer>;
  readonly clear: () => void;
}

/** A file that was made. */
interface Made {
  readonly bytes: Bytes;
  readonly type: string;
}

const MOST = 5000;
const MOST_MADE = 4;
const MOST_TEXT = 600;

/** Keeps the last 5,000 files: their descriptions, and the bytes of the last four that were fetched. */
export function createFiles({
  state,
  clock,
  media,
}: {
  readonly state: EmulatorState | undefined;
  readonly clock: EmulatorClock;
  readonly media: MediaScript;
}): Files {
  const files = createExpiringMap<File>({ clock, most: MOST, state, name: "files" });
  const made = new Map<string, Promise<Made>>();
  return { publish, imageAt, answer, clear };

  function publish(name: string, file: File, { origin, expiresAt }: { origin: string; expiresAt: number }) {
    const base = file.base === undefined ? {} : { base: cut(file.base, MOST_TEXT) };
    files.set(name, { ...file, prompt: cut(file.prompt, MOST_TEXT), ...base });
    return `${origin}/files/${name}?${sign(name, expiresAt)}`;
  }

  function imageAt(url: string) {
    const [, name] = /\/files\/([^/?#]+)\?/.exec(url) ?? [];
    const file = name === undefined ? undefined : files.get(name);
    return file && !("seconds" in file) ? file : undefined;
  }

  async function answer({ param: name, request }: Exchange): Promise<Answer> {
    const verdict = verify(name, new URL(request.url).searchParams, clock.now());
    if (verdict === "expired") return forbidden("The address of this file has expired.", "url_expired");
    if (verdict === "wrong")
      return forbidden("The signature of this address is missing or wrong.", "invalid_signature");
    const file = files.get(name);
    if (!file) return unknownThing("There is no such file any more.", "file_not_found");
    const { bytes, type } = await bytesOf(name, file);
    const headers = { "content-type": type, etag: `"${hash(JSON.stringify(file))}"`, ...UNCHANGING };
    return rangeOf(bytes, request, headers);
  }

  function bytesOf(name: string, file: File): Promise<Made> {
    const bytes = made.get(name) ?? make(file, media);
    made.set(name, bytes);
    // one that failed is made again
    bytes.catch(() => made.delete(name));
    for (const oldest of made.keys()) {
      if (made.size <= MOST_MADE) break;
      made.delete(oldest);
    }
    return bytes;
  }

  function clear() {
    files.clear();
    made.clear();
  }
}

const promptOf = ({ prompt }: File) => prompt;

async function make(file: File, { image = promptOf, video = promptOf }: MediaScript): Promise<Made> {
  const made = await ("seconds" in file ? video(file) : image(file));
  const blob = await (typeof made === "string" ? draw({ ...file, prompt: made }) : made);
  const bytes = new Uint8Array(await blob.arrayBuffer());
  return { bytes, type: blob.type || "application/octet-stream" };
}

/** Draws a file with its prompt as the caption. */
function draw(file: File): Blob | Promise<Blob> {
  return "seconds" in file ? writeFilm(file) : writePNG(bitmapOf(file), file.prompt);
}

const UNCHANGING = { "cache-control": "private, max-age=86400, immutable" };
