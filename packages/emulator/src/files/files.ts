import type { EmulatorClock } from "../clock.js";
import { cut } from "../cut.js";
import type { Exchange } from "../exchange.js";
import { type Answer, forbidden, unknownThing } from "../http.js";
import { createShelf } from "../shelf.js";
// not imported when it is needed: a Service Worker may not
import { clip } from "./clip.js";
import { type Picture, paint } from "./picture.js";
import { writePNG } from "./png.js";
import { rangeOf } from "./range.js";
import { sign, verify } from "./signature.js";

/** What is behind an address: a picture that is drawn when it is fetched, or the video. */
export type File = Picture | "video";

/** The files that the emulator hands out addresses of. */
export interface Files {
  /** Keeps a file under `name`, and says its address on `origin`, which is good until `expiresAt`. */
  readonly publish: (name: string, file: File, at: { origin: string; expiresAt: number }) => string;
  /** `GET` and `HEAD /files/{name}`. */
  readonly answer: (exchange: Exchange) => Answer;
  readonly clear: () => void;
}

const MOST = 5000;
const MOST_TEXT = 600;

/** Keeps the last 5,000 files; what a file shows is kept, not its bytes. */
export function createFiles({ clock }: { readonly clock: EmulatorClock }): Files {
  const shelf = createShelf<File>({ clock, most: MOST });
  return { publish, answer, clear: shelf.clear };

  function publish(name: string, file: File, { origin, expiresAt }: { origin: string; expiresAt: number }) {
    shelf.put(name, file === "video" ? file : { ...file, text: cut(file.text, MOST_TEXT) });
    return `${origin}/files/${name}?${sign(name, expiresAt)}`;
  }

  function answer({ param: name, request }: Exchange): Answer {
    const verdict = verify(name, new URL(request.url).searchParams, clock.now());
    if (verdict === "expired") return forbidden("The address of this file has expired.", "url_expired");
    if (verdict === "wrong")
      return forbidden("The signature of this address is missing or wrong.", "invalid_signature");
    const file = shelf.get(name);
    if (!file) return unknownThing("There is no such file any more.", "file_not_found");
    return file === "video" ? video(request) : picture(file);
  }
}

function picture(file: Picture): Answer {
  // compressed while it is sent, so that its length is not known before
  const headers = { "content-type": "image/png", "accept-ranges": "none" };
  return { status: 200, headers, body: () => writePNG(paint(file)) };
}

function video(request: Request): Answer {
  return rangeOf(clip(), request, { "content-type": "video/mp4", etag: '"clip-1"' });
}
