import "./loaded.js";
import { afterAll, beforeAll } from "vitest";
import { PART_BYTES, setPartBytes } from "../../src/uploads/part-request.js";

/** Size of a part in test files that call `useSmallParts`. */
export const PART_SIZE = 65_536;
/** Size of a part in production. */
export const REAL_PART_SIZE = PART_BYTES;

/** Sets the parts to 64 kB for a test file. With parts of 8 MiB, the tests would copy gigabytes. */
export function useSmallParts(): void {
  beforeAll(() => setPartBytes(PART_SIZE));
  afterAll(() => setPartBytes(REAL_PART_SIZE));
}

interface Stored {
  readonly bytes: number;
  readonly content: Uint8Array;
}

/** Creates the proxy's side of uploads, in memory. `next` handles every other path. */
export function createUploads(next: (request: Request) => Response | Promise<Response> = createNotFound) {
  const files = new Map<string, Stored>();
  const log: string[] = [];
  /** Responses to send in place of the next ones. */
  const failures: (() => Response | Promise<Response>)[] = [];
  let lifeMs = 86_400_000;
  return {
    files,
    log,
    failures,
    /** Sets the lifetime of URLs. */
    setLifetime(ms: number) {
      lifeMs = ms;
    },
    async respond(request: Request): Promise<Response> {
      const { pathname } = new URL(request.url);
      if (!pathname.startsWith("/v1/uploads")) return next(request);
      const body = new Uint8Array(await request.arrayBuffer());
      const offset = Number(request.headers.get("upload-offset") ?? 0);
      log.push(`${request.method} ${body.length === 0 ? "" : `${offset}+${body.length}`}`.trim());
      const failure = failures.shift();
      if (failure) return failure();
      const id = pathname.split("/")[3] ?? `file-${files.size + 1}`;
      const known = files.get(id);
      if (request.method !== "POST" && !known) return createRefusal(404, "not_found");
      if (request.method === "GET") return Response.json(getState(id));
      const before = known?.content ?? new Uint8Array();
      if (offset !== before.length) return createRefusal(409, "upload_offset");
      const content = new Uint8Array(before.length + body.length);
      content.set(before);
      content.set(body, before.length);
      const bytes = known?.bytes ?? Number(request.headers.get("upload-length") ?? body.length);
      files.set(id, { bytes, content });
      return Response.json(getState(id), { status: known ? 200 : 201 });
    },
  };

  function getState(id: string) {
    const { bytes, content } = files.get(id) as Stored;
    const isWhole = content.length === bytes;
    const link = { url: `https://app.test/v1/media/${id}`, type: "video/mp4" };
    return { id, bytes, offset: content.length, expiresAt: Date.now() + lifeMs, ...(isWhole && link) };
  }
}

export function createRefusal(status: number, code: string): Response {
  return Response.json({ error: { message: code, code } }, { status });
}

const createNotFound = () => createRefusal(404, "not_found");
