/**
 * Converts a request of the page to the request that a server would receive: at another address, and with the
 * `content-length` that the browser would add.
 *
 * @param mount address of the page, which the request's address starts with
 * @param target address that replaces it
 */
export async function toServerRequest(request: Request, mount: string, target: string): Promise<Request> {
  const { method, signal } = request;
  const content = method === "GET" || method === "HEAD" ? undefined : await request.arrayBuffer();
  const headers = new Headers(request.headers);
  if (content) headers.set("content-length", String(content.byteLength));
  const body = content?.byteLength ? content : null;
  const sent = new Request(target + request.url.slice(mount.length), { method, headers, signal, body });
  // a page may not set `content-length`
  Object.defineProperty(sent, "headers", { value: headers });
  return sent;
}
