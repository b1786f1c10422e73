import type { EmulatorClock } from "../clock.js";
import { cut } from "../server/cut.js";
import type { Exchange } from "../server/exchange.js";
import { createExpiringMap } from "../server/expiring-map.js";
import { type Answer, forbidden, unknownThing } from "../server/http.js";
// imported statically, because a Service Worker has no dynamic import
import { type Clip, filmOf } from "./clip.js";
import { bitmapOf, type Picture } from "./picture.js";
import { writePNG } from "./png.js";
import { rangeOf } from "./range.js";
import { sign, verify } from "./signature.js";

/** A file: a picture that is painted when it is fetched, or a video that is made then. */
export type File = Picture | Clip;

/** Files whose URLs are in answers. */
export interface Files {
  /** Keeps a file under `name`, and returns its URL at `origin`, which is valid until `expiresAt`. */
  readonly publish: (name: string, file: File, at: { origin: string; expiresAt: number }) => string;
  /** Finds the picture behind a URL that `publish` has returned. */
  readonly pictureAt: (url: string) => Picture | undefined;
  /** `GET` and `HEAD /files/{name}`. */
  readonly answer: (exchange: Exchange) => Answer;
  readonly clear: () => void;
}

const MOST = 5000;
const MOST_TEXT = 600;

/** Keeps the last 5,000 files. The description of a file is kept, not its bytes. */
export function createFiles({ clock }: { readonly clock: EmulatorClock }): Files {
  const files = createExpiringMap<File>({ clock, most: MOST });
  return { publish, pictureAt, answer, clear: files.clear };

  function publish(name: string, file: File, { origin, expiresAt }: { origin: string; expiresAt: number }) {
    files.set(name, "picture" in file ? { ...file, picture: shortened(file.picture) } : shortened(file));
    return `${origin}/files/${name}?${sign(name, expiresAt)}`;
  }

  function pictureAt(url: string) {
    const [, name] = /\/files\/([^/?#]+)\?/.exec(url) ?? [];
    const file = name === undefined ? undefined : files.get(name);
    return file && !("picture" in file) ? file : undefined;
  }

  function answer({ param: name, request }: Exchange): Answer {
    const verdict = verify(name, new URL(request.url).searchParams, clock.now());
    if (verdict === "expired") return forbidden("The address of this file has expired.", "url_expired");
    if (verdict === "wrong")
      return forbidden("The signature of this address is missing or wrong.", "invalid_signature");
    const file = files.get(name);
    if (!file) return unknownThing("There is no such file any more.", "file_not_found");
    return "picture" in file ? video(file, request) : picture(file);
  }
}

function shortened<Described extends Pick<Picture, "prompt" | "base">>(file: Described): Described {
  const base = file.base === undefined ? {} : { base: cut(file.base, MOST_TEXT) };
  return { ...file, prompt: cut(file.prompt, MOST_TEXT), ...base };
}

function picture(file: Picture): Answer {
  // no length: the picture is compressed while it is sent
  const headers = { "content-type": "image/png", "accept-ranges": "none", ...UNCHANGING };
  return { status: 200, headers, body: () => writePNG(bitmapOf(file), file.prompt) };
}

function video(clip: Clip, request: Request): Answer {
  const { bytes, etag } = filmOf(clip);
  return rangeOf(bytes, request, { "content-type": "video/mp4", etag, ...UNCHANGING });
}

const UNCHANGING = { "cache-control": "private, max-age=86400, immutable" };
