/**
 * Returns a request of the page as a server gets it: at another address, with the length of its body, which a browser adds
 * on the way.
 *
 * @param mount address below which the requests are
 * @param target address that takes its place
 */
export async function asAServerSees(request: Request, mount: string, target: string): Promise<Request> {
  const { method, signal } = request;
  const content = method === "GET" || method === "HEAD" ? undefined : await request.arrayBuffer();
  const headers = new Headers(request.headers);
  if (content) headers.set("content-length", String(content.byteLength));
  const body = content?.byteLength ? content : null;
  const sent = new Request(target + request.url.slice(mount.length), { method, headers, signal, body });
  // a request of a page has no length of its own
  Object.defineProperty(sent, "headers", { value: headers });
  return sent;
}
