import type { EmulatorClock } from "../clock.js";
import { cut } from "../server/cut.js";
import type { Exchange } from "../server/exchange.js";
import { createExpiringMap } from "../server/expiring-map.js";
import { type Answer, forbidden, unknownThing } from "../server/http.js";
// imported statically, because a Service Worker has no dynamic import
import { clip } from "./clip.js";
import { type Picture, paint } from "./picture.js";
import { writePNG } from "./png.js";
import { rangeOf } from "./range.js";
import { sign, verify } from "./signature.js";

/** A file: a picture that is drawn when it is fetched, or the video. */
export type File = Picture | "video";

/** Files whose URLs are in answers. */
export interface Files {
  /** Keeps a file under `name`, and returns its URL at `origin`, which is valid until `expiresAt`. */
  readonly publish: (name: string, file: File, at: { origin: string; expiresAt: number }) => string;
  /** `GET` and `HEAD /files/{name}`. */
  readonly answer: (exchange: Exchange) => Answer;
  readonly clear: () => void;
}

const MOST = 5000;
const MOST_TEXT = 600;

/** Keeps the last 5,000 files. The description of a file is kept, not its bytes. */
export function createFiles({ clock }: { readonly clock: EmulatorClock }): Files {
  const files = createExpiringMap<File>({ clock, most: MOST });
  return { publish, answer, clear: files.clear };

  function publish(name: string, file: File, { origin, expiresAt }: { origin: string; expiresAt: number }) {
    files.set(name, file === "video" ? file : { ...file, text: cut(file.text, MOST_TEXT) });
    return `${origin}/files/${name}?${sign(name, expiresAt)}`;
  }

  function answer({ param: name, request }: Exchange): Answer {
    const verdict = verify(name, new URL(request.url).searchParams, clock.now());
    if (verdict === "expired") return forbidden("The address of this file has expired.", "url_expired");
    if (verdict === "wrong")
      return forbidden("The signature of this address is missing or wrong.", "invalid_signature");
    const file = files.get(name);
    if (!file) return unknownThing("There is no such file any more.", "file_not_found");
    return file === "video" ? video(request) : picture(file);
  }
}

function picture(file: Picture): Answer {
  // no length: the picture is compressed while it is sent
  const headers = { "content-type": "image/png", "accept-ranges": "none" };
  return { status: 200, headers, body: () => writePNG(paint(file)) };
}

function video(request: Request): Answer {
  return rangeOf(clip(), request, { "content-type": "video/mp4", etag: '"clip-1"' });
}
