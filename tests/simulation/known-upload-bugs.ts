import { change, type KnownBug } from "./known-bugs.ts";

const uploads = "packages/core/src/uploads";

/** Bugs of uploads, for the worlds in which bytes are money. */
export const knownUploadBugs: readonly KnownBug[] = [
  {
    name: "a part of an upload that is sent again is counted twice",
    changes: [
      change(
        `${uploads}/send-file.ts`,
        "handlers.onProgress(sending.state?.offset ?? 0);",
        "handlers.onProgress(sending.sentBytes);",
      ),
    ],
  },
  {
    name: "an offset outside the file is progress of an upload",
    changes: [
      change(
        `${uploads}/upload-at-proxy.ts`,
        "return Number.isInteger(offset) && (offset as number) >= 0 && (offset as number) <= size;",
        'return typeof offset === "number" && size > 0;',
      ),
    ],
  },
  {
    name: "another file of the same name goes on with an upload",
    changes: [
      change(
        `${uploads}/kept-uploads.ts`,
        'const hashes = await Promise.all([first, last].map((part) => subtle.digest("SHA-256", part)));',
        "const hashes = [first, last].map(({ length }) => String(length));",
      ),
    ],
  },
  {
    name: "an upload without progress does not end",
    changes: [
      change(
        `${uploads}/send-file.ts`,
        "const MOST_COPIES = 3;",
        "const MOST_COPIES = Number.POSITIVE_INFINITY;",
      ),
      change(`${uploads}/send-file.ts`, "if (next.offset <= sending.reached) return;", ""),
    ],
  },
  {
    name: "the bytes that an upload may cost have no bound",
    changes: [
      change(
        `${uploads}/send-file.ts`,
        "const MOST_COPIES = 3;",
        "const MOST_COPIES = Number.POSITIVE_INFINITY;",
      ),
    ],
  },
  {
    name: "an upload is forgotten by a reload",
    changes: [change(`${uploads}/upload.ts`, "kept?.keep(next);", "void kept;")],
  },
  {
    name: "an upload whose connection is lost may be billed",
    changes: [
      change(
        `${uploads}/part-request.ts`,
        'known.outcome === "not-sent" ? known : new ConnectionError(LOST, "not-sent", { cause });',
        "known;",
      ),
    ],
  },
];
