/*
 * Files that the user chose, in the browser's cache: a file stays until the browser deletes the page's data.
 * `fileStore()` of `@sluice/durable` does it on a server.
 */

/** Lifetime of a link, as the page is told, in milliseconds. */
const VALID_MS = 30 * 86_400_000;
/** Header with the full size of an upload. */
const LENGTH = "x-upload-length";

/**
 * Opens the uploads of the page.
 *
 * @param base address of the page, with a slash at its end
 * @returns a function that responds to requests for uploads and their files; undefined for all others
 */
export function openUploads(base: string): (request: Request) => Promise<Response | undefined> {
  const openCache = () => caches.open(`${base} uploads`);
  return async (request) => {
    const [, kind, id] = /^v1\/(uploads|media)(?:\/([\w-]+))?$/.exec(request.url.slice(base.length)) ?? [];
    if (kind === "media") return (await (await openCache()).match(request.url)) ?? refuseUnknown();
    if (kind !== "uploads") return undefined;
    if (request.method === "POST") return store(crypto.randomUUID(), [], request);
    const known = id && (await (await openCache()).match(getAddress(id)));
    if (!known) return refuseUnknown();
    const stored = await known.blob();
    const bytes = Number(known.headers.get(LENGTH));
    if (request.method !== "PATCH") return describeUpload(id, stored.size, bytes);
    const offset = Number(request.headers.get("upload-offset"));
    if (offset !== stored.size) return refuse(409, `continue at upload-offset: ${stored.size}`);
    return store(id, [stored], request, bytes);
  };

  async function store(id: string, before: readonly Blob[], request: Request, bytes?: number) {
    const content = new Blob([...before, await request.blob()]);
    const length = bytes ?? Number(request.headers.get("upload-length") ?? content.size);
    const headers = { [LENGTH]: String(length) };
    await (await openCache()).put(getAddress(id), new Response(content, { headers }));
    return describeUpload(id, content.size, length, bytes === undefined ? 201 : 200);
  }

  function describeUpload(id: string, offset: number, bytes: number, status = 200): Response {
    const expiresAt = Date.now() + VALID_MS;
    const file = offset === bytes ? { url: getAddress(id) } : {};
    return Response.json({ id, bytes, offset, expiresAt, ...file }, { status });
  }

  function getAddress(id: string): string {
    return `${base}v1/media/${id}`;
  }
}

const refuseUnknown = () => refuse(404, "this file is unknown");

function refuse(status: number, message: string): Response {
  return Response.json({ error: { message } }, { status });
}
